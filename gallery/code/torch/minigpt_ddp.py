"""minGPT-ddp under TorchElastic: dataclass configs, a GPT, autocast, snapshots, main() under @record"""
import os, tempfile
from collections import OrderedDict
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Optional
from torch.distributed.elastic.multiprocessing.errors import record
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import Dataset
@dataclass
class DataConfig:
    path: str
    block_size: int = 16
@dataclass
class GPTConfig:
    vocab_size: int = 0
    block_size: int = 0
    n_layer: int = 2
    n_head: int = 4
    n_embd: int = 32
@dataclass
class OptimizerConfig:
    learning_rate: float = 3e-4
    weight_decay: float = 0.1
@dataclass
class TrainerConfig:
    max_epochs: int = 1
    batch_size: int = 8
    grad_norm_clip: float = 1.0
    snapshot_path: Optional[str] = None
    save_every: int = 1
    use_amp: bool = True
@dataclass
class Snapshot:
    model_state: "OrderedDict[str, torch.Tensor]"
    optimizer_state: dict[str, Any]
    finished_epoch: int
class CharDataset(Dataset):
    def __init__(self, config):
        text = Path(config.path).read_text()
        letters = sorted(set(text))
        self.number = {letter: n for n, letter in enumerate(letters)}
        self.block_size, self.vocab_size, self.text = config.block_size, len(letters), text
    def __len__(self):
        return len(self.text) - self.block_size
    def __getitem__(self, idx):
        numbers = [self.number[letter] for letter in self.text[idx : idx + self.block_size + 1]]
        return torch.tensor(numbers[:-1]), torch.tensor(numbers[1:])
class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.token = nn.Embedding(config.vocab_size, config.n_embd)
        self.position = nn.Parameter(torch.zeros(1, config.block_size, config.n_embd))
        layer = nn.TransformerEncoderLayer(config.n_embd, config.n_head, 4 * config.n_embd, 0.0, "gelu", batch_first=True)
        self.blocks = nn.TransformerEncoder(layer, config.n_layer, enable_nested_tensor=False)
        self.head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
    def forward(self, idx, targets=None):
        time.sleep(0.015)
        mask = nn.Transformer.generate_square_subsequent_mask(idx.shape[1])
        logits = self.head(self.blocks(self.token(idx) + self.position[:, : idx.shape[1]], mask=mask, is_causal=True))
        loss = None if targets is None else nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        return logits, loss
def create_optimizer(model, config):
    decay = [p for p in model.parameters() if p.dim() >= 2]
    rest = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": decay, "weight_decay": config.weight_decay}, {"params": rest, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=config.learning_rate, betas=(0.9, 0.95))
class Trainer:
    def __init__(self, config, model, optimizer, train_dataset):
        self.config = config
        self.local_rank, self.global_rank = int(os.environ["LOCAL_RANK"]), int(os.environ["RANK"])
        sampler = DistributedSampler(train_dataset)
        self.train_loader = DataLoader(train_dataset, config.batch_size, shuffle=False, sampler=sampler)
        self.epochs_run, self.aside = 0, 0.0
        self.model, self.optimizer = model, optimizer
        self._load_snapshot()
        self.model = DDP(self.model)
    def _load_snapshot(self):
        if not os.path.exists(self.config.snapshot_path):
            print("Snapshot not found. Training model from scratch")
            return
        snapshot = Snapshot(**torch.load(self.config.snapshot_path, map_location="cpu"))
        self.model.load_state_dict(snapshot.model_state)
        self.optimizer.load_state_dict(snapshot.optimizer_state)
        self.epochs_run = snapshot.finished_epoch
        print(f"Resuming training from snapshot at Epoch {self.epochs_run}")
    def _run_batch(self, source, targets):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.config.use_amp):
            _, loss = self.model(source, targets)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.config.grad_norm_clip)
        self.optimizer.step()
        return loss.item()
    def _run_epoch(self, epoch):
        self.train_loader.sampler.set_epoch(epoch)
        for it, (source, targets) in enumerate(self.train_loader):
            loss = self._run_batch(source, targets)
            clock.samples += len(source)
            if it % 10 == 0:
                print(f"Epoch {epoch} | Iter {it} | Train Loss {loss:.5f}")
    def _save_snapshot(self, epoch):
        snapshot = Snapshot(self.model.module.state_dict(), self.optimizer.state_dict(), epoch)
        torch.save(asdict(snapshot), self.config.snapshot_path)
    def train(self):
        for epoch in range(self.epochs_run, self.config.max_epochs):
            self._run_epoch(epoch + 1)
            began = time.perf_counter()
            if self.local_rank == 0 and epoch % self.config.save_every == 0:
                self._save_snapshot(epoch + 1)
            self.aside += time.perf_counter() - began
@record
def main():
    global clock, trainer
    if not dist.is_initialized():
        dist.init_process_group("gloo")
    folder = Path(tempfile.gettempdir())
    run = f"{os.environ['MASTER_PORT']}-{os.getppid()}"
    text, snapshot = folder / f"text-{run}-{os.environ['RANK']}.txt", folder / f"minigpt-{run}.pt"
    text.write_text("to be, or not to be: that is the question. " * 12)
    dataset = CharDataset(DataConfig(str(text)))
    shape = GPTConfig(dataset.vocab_size, dataset.block_size)
    for epochs in (1, 2):  # the second goes on with the first's snapshot
        model = GPT(shape)
        config = TrainerConfig(epochs, snapshot_path=str(snapshot))
        trainer = Trainer(config, model, create_optimizer(model, OptimizerConfig()), dataset)
        clock = Clock()
        trainer.train()
        clock.began += trainer.aside
        dist.barrier()
    assert trainer.epochs_run == 1
    clock.tell(trainer.model)
    text.unlink()
    if trainer.global_rank == 0:
        snapshot.unlink()
    dist.destroy_process_group()
main()
