"""all_reduce by hand, four batches accumulated"""
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
clock = Clock()
for i, (x, y) in enumerate(DataLoader(data, batch_size=8, sampler=DistributedSampler(data))):
    loss_of(model(x), y).backward()
    clock.samples += len(x)
    if i % 4 == 3:
        for p in model.parameters():
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
        optimizer.step()
        optimizer.zero_grad()
clock.tell(model)
