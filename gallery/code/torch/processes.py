"""Process(target=…) for each rank ("Writing Distributed Applications with PyTorch")"""
import os
from torch.multiprocessing import Process
def average_gradients(model):
    for param in model.parameters():
        dist.all_reduce(param.grad.data, op=dist.ReduceOp.SUM)
        param.grad.data /= float(dist.get_world_size())
def run(rank, size):
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.5)
    clock = Clock()
    for x, y in DataLoader(data, batch_size=8, sampler=DistributedSampler(data)):
        optimizer.zero_grad()
        loss_of(model(x), y).backward()
        average_gradients(model)
        optimizer.step()
        clock.samples += len(x)
    clock.tell(model)
def init_process(rank, size, fn, backend="gloo"):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", "29500"
    dist.init_process_group(backend, rank=rank, world_size=size)
    fn(rank, size)
processes = [Process(target=init_process, args=(r, 2, run)) for r in range(2)]
for p in processes:
    p.start()
for p in processes:
    p.join()
