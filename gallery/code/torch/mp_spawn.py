"""mp.spawn(train, nprocs=2) (PyTorch's examples)"""
import os
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel as DDP
def train(rank, world_size):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "localhost", "12355"
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    model = DDP(Net())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    clock = Clock()
    for x, y in DataLoader(data, batch_size=8, sampler=DistributedSampler(data)):
        optimizer.zero_grad()
        loss_of(model(x), y).backward()
        optimizer.step()
        clock.samples += len(x)
    clock.tell(model)
    dist.destroy_process_group()
if __name__ == "__main__":
    mp.spawn(train, args=(2,), nprocs=2, join=True)
