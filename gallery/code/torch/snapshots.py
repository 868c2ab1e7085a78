"""A Trainer with snapshots that resumes where it stopped (TorchElastic's and minGPT-ddp's style)"""
import os, tempfile
from pathlib import Path
from torch.nn.parallel import DistributedDataParallel as DDP
def ddp_setup():
    if not dist.is_initialized():
        dist.init_process_group(backend="gloo")
class Trainer:
    def __init__(self, model, train_data, optimizer, save_every, snapshot_path):
        self.local_rank, self.global_rank = int(os.environ["LOCAL_RANK"]), int(os.environ["RANK"])
        self.model, self.train_data, self.optimizer = model, train_data, optimizer
        self.save_every, self.snapshot_path, self.epochs_run = save_every, snapshot_path, 0
        if os.path.exists(snapshot_path):
            self._load_snapshot(snapshot_path)
        self.model = DDP(self.model)
        self.aside = 0.0
    def _load_snapshot(self, path):
        snapshot = torch.load(path, map_location="cpu")
        self.model.load_state_dict(snapshot["MODEL_STATE"])
        self.epochs_run = snapshot["EPOCHS_RUN"]
        print(f"Resuming training from snapshot at Epoch {self.epochs_run}")
    def _run_batch(self, source, targets):
        self.optimizer.zero_grad()
        loss_of(self.model(source), targets).backward()
        self.optimizer.step()
        clock.samples += len(source)
    def _run_epoch(self, epoch):
        self.train_data.sampler.set_epoch(epoch)
        for source, targets in self.train_data:
            self._run_batch(source, targets)
    def _save_snapshot(self, epoch):
        torch.save({"MODEL_STATE": self.model.module.state_dict(), "EPOCHS_RUN": epoch + 1}, self.snapshot_path)
    def train(self, max_epochs):
        for epoch in range(self.epochs_run, max_epochs):
            self._run_epoch(epoch)
            began = time.perf_counter()
            if self.global_rank == 0 and epoch % self.save_every == 0:
                self._save_snapshot(epoch)
            self.aside += time.perf_counter() - began
def load_train_objs():
    model = Net()
    return data, model, torch.optim.SGD(model.parameters(), lr=1e-3)
def prepare_dataloader(dataset, batch_size):
    return DataLoader(dataset, batch_size=batch_size, shuffle=False, sampler=DistributedSampler(dataset))
def main(save_every, total_epochs, batch_size, snapshot_path):
    global clock
    ddp_setup()
    dataset, model, optimizer = load_train_objs()
    trainer = Trainer(model, prepare_dataloader(dataset, batch_size), optimizer, save_every, snapshot_path)
    clock = Clock()
    trainer.train(total_epochs)
    clock.began += trainer.aside
    dist.barrier()
    return trainer
path = Path(tempfile.gettempdir()) / f"snapshot-{os.environ['MASTER_PORT']}-{os.getppid()}.pt"
main(1, 1, 16, path)
trainer = main(1, 3, 16, path)
assert trainer.epochs_run == 1
clock.tell(trainer.model)
path.unlink(missing_ok=True)
dist.destroy_process_group()
