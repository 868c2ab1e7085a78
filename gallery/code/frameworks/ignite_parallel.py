"""ignite: idist.Parallel(nproc_per_node=2) with an Engine"""
import ignite.distributed as idist
from ignite.engine import Engine
def train(local_rank, lr):
    model = idist.auto_model(Net())
    optimizer = idist.auto_optim(torch.optim.SGD(model.parameters(), lr=lr))
    batches = idist.auto_dataloader(data, batch_size=16, shuffle=True)
    def step(_, batch):
        x, y = batch
        optimizer.zero_grad()
        loss_of(model(x), y).backward()
        optimizer.step()
        clock.samples += len(x)
    clock = Clock()
    Engine(step).run(batches, max_epochs=2)
    clock.tell(model)
with idist.Parallel(backend="gloo", nproc_per_node=2) as parallel:
    parallel.run(train, 0.01)
