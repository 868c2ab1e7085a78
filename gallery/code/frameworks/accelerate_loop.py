"""Accelerate: Accelerator() with its defaults"""
from accelerate import Accelerator
accelerator = Accelerator()
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
model, optimizer, batches = accelerator.prepare(model, optimizer, DataLoader(data, batch_size=8, shuffle=True))
clock = Clock()
for x, y in batches:
    with accelerator.accumulate(model):
        accelerator.backward(loss_of(model(x), y))
        optimizer.step()
        optimizer.zero_grad()
    clock.samples += len(x)
assert accelerator.num_processes == 2
clock.tell(model)
