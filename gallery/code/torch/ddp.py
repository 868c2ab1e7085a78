"""DDP with a DistributedSampler (PyTorch's tutorial)"""
from torch.nn.parallel import DistributedDataParallel as DDP
model = DDP(module=Net())
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
sampler = DistributedSampler(data)
clock = Clock()
for epoch in range(2):
    sampler.set_epoch(epoch)
    for x, y in DataLoader(data, batch_size=8, sampler=sampler):
        optimizer.zero_grad()
        loss_of(model(x), y).backward()
        optimizer.step()
        clock.samples += len(x)
clock.tell(model)
