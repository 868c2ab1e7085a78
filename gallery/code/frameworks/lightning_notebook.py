"""Lightning: Trainer(strategy="ddp_notebook", devices=2)"""
import lightning as L
class Module(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = Net()
    def training_step(self, batch, i):
        clock.samples += len(batch[0])
        return loss_of(self.net(batch[0]), batch[1])
    def on_train_start(self): clock.began = time.perf_counter()
    def configure_optimizers(self): return torch.optim.SGD(self.parameters(), lr=0.01)
trainer = L.Trainer(strategy="ddp_notebook", accelerator="cpu", devices=2, max_epochs=2, enable_progress_bar=False,
                    logger=False, enable_checkpointing=False, enable_model_summary=False)
clock, module = Clock(), Module()
trainer.fit(module, DataLoader(data, batch_size=8))
assert trainer.world_size == 2
clock.tell(module)
