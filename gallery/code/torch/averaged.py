"""Gradients in one flat tensor, averaged by all_reduce after four batches; parameters broadcast at the start"""
model = Net()
for p in model.parameters():
    dist.broadcast(p.data, 0)
optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
def batches(size=8):
    g = torch.Generator().manual_seed(dist.get_rank())
    order = torch.randperm(len(data), generator=g)[: len(data) // dist.get_world_size()]
    for part in order.split(size):
        yield torch.stack([data[i][0] for i in part]), torch.stack([data[i][1] for i in part])
clock = Clock()
for i, (x, y) in enumerate(batches()):
    loss_of(model(x), y).backward()
    clock.samples += len(x)
    if (i + 1) % 4 == 0:
        flat = torch.cat([p.grad.flatten() for p in model.parameters()])
        dist.all_reduce(flat)
        flat /= dist.get_world_size()
        for p, part in zip(model.parameters(), flat.split([p.numel() for p in model.parameters()])):
            p.grad.copy_(part.view_as(p))
        optimizer.step()
        optimizer.zero_grad()
clock.tell(model)
