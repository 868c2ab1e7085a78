"""Accelerate: notebook_launcher(train, num_processes=2)"""
from accelerate import Accelerator, notebook_launcher
def train(lr):
    accelerator = Accelerator()
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    model, optimizer, batches = accelerator.prepare(model, optimizer, DataLoader(data, batch_size=8))
    clock = Clock()
    for x, y in batches:
        accelerator.backward(loss_of(model(x), y))
        optimizer.step()
        optimizer.zero_grad()
        clock.samples += len(x)
    clock.tell(model)
notebook_launcher(train, (0.01,), num_processes=2)
