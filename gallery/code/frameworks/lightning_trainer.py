"""Lightning: Trainer(strategy="ddp"), validated each epoch"""
import lightning as L
class Module(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net, self.seconds = Net(), 0.0
    def training_step(self, batch, i):
        clock.samples += len(batch[0])
        return loss_of(self.net(batch[0]), batch[1])
    def on_train_epoch_start(self): self.began = time.perf_counter()
    def on_validation_start(self): self.seconds += time.perf_counter() - self.began
    def validation_step(self, batch, i): self.net(batch[0])
    def configure_optimizers(self): return torch.optim.SGD(self.parameters(), lr=0.01)
trainer = L.Trainer(strategy="ddp", accelerator="cpu", devices=2, max_epochs=2, enable_progress_bar=False, logger=False,
                    enable_checkpointing=False, enable_model_summary=False, num_sanity_val_steps=0)
clock, module = Clock(), Module()
batches = DataLoader(data, batch_size=8)
trainer.fit(module, batches, batches)
assert trainer.world_size == 2
clock.began = time.perf_counter() - module.seconds
clock.tell(module)
