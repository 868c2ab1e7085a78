"""ignite: idist.spawn, a supervised trainer with an evaluator, handlers and a progress of metrics"""
import ignite.distributed as idist
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.metrics import Accuracy, Loss, RunningAverage
def training(local_rank, config):
    model = idist.auto_model(Net())
    optimizer = idist.auto_optim(torch.optim.SGD(model.parameters(), lr=config["lr"]))
    criterion = nn.CrossEntropyLoss()
    train_loader = idist.auto_dataloader(data, batch_size=16, shuffle=True)
    val_loader = idist.auto_dataloader(data, batch_size=96)
    trainer = create_supervised_trainer(model, optimizer, criterion)
    evaluator = create_supervised_evaluator(model, metrics={"accuracy": Accuracy(), "nll": Loss(criterion)})
    RunningAverage(output_transform=lambda x: x).attach(trainer, "loss")
    clock, aside = Clock(), 0.0
    @trainer.on(Events.ITERATION_COMPLETED)
    def count(engine): clock.samples += len(engine.state.batch[0])
    @trainer.on(Events.EPOCH_COMPLETED)
    def validate(engine):
        began = time.perf_counter()
        evaluator.run(val_loader)
        clock.began += time.perf_counter() - began
    trainer.run(train_loader, max_epochs=2)
    clock.tell(model)
idist.spawn("gloo", training, args=({"lr": 0.01},), nproc_per_node=2)
