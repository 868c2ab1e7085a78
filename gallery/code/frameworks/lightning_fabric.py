"""Lightning: Fabric(devices=2)"""
from lightning.fabric import Fabric
fabric = Fabric(accelerator="cpu", devices=2, strategy="ddp")
fabric.launch()
model = Net()
model, optimizer = fabric.setup(model, torch.optim.SGD(model.parameters(), lr=0.01))
batches = fabric.setup_dataloaders(DataLoader(data, batch_size=8))
clock = Clock()
for x, y in batches:
    optimizer.zero_grad()
    fabric.backward(loss_of(model(x), y))
    optimizer.step()
    clock.samples += len(x)
clock.tell(model)
