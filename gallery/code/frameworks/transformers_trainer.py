"""Transformers: Trainer with its defaults, two batches accumulated, evaluated each epoch"""
from transformers import Trainer, TrainerCallback, TrainingArguments
class Text(torch.utils.data.Dataset):
    def __len__(self): return 480
    def __getitem__(self, i): return {"x": torch.randn(8), "labels": torch.tensor(i % 2)}
class Model(Net):
    def forward(self, x=None, labels=None):
        logits = super().forward(x)
        return {"loss": loss_of(logits, labels), "logits": logits}
class Count(TrainerCallback):
    def on_epoch_begin(self, *_, **__): self.began = time.perf_counter()
    def on_step_end(self, *_, **__):
        clock.samples += 16
    def on_epoch_end(self, *_, **__): self.seconds = getattr(self, "seconds", 0) + time.perf_counter() - self.began
arguments = TrainingArguments(
    "out", per_device_train_batch_size=8, gradient_accumulation_steps=2, num_train_epochs=2, report_to=[],
    disable_tqdm=True, save_strategy="no", logging_strategy="no", eval_strategy="epoch")
clock, count = Clock(), Count()
trainer = Trainer(Model(), arguments, train_dataset=Text(), eval_dataset=Text(), callbacks=[count])
trainer.train()
assert arguments.world_size == 2
clock.began = time.perf_counter() - count.seconds
clock.tell(trainer.model)
