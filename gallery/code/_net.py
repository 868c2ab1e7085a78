import time
import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
torch.manual_seed(0)
class Net(nn.Module):
    """Takes a known time, so that a rate can be compared on any machine."""
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
    def forward(self, x):
        time.sleep(0.015)
        return self.layers(x)
data = TensorDataset(torch.randn(960, 8), torch.randint(0, 2, (960,)))
loss_of = nn.functional.cross_entropy
class Clock:
    """The loop's own count: samples of all ranks a second of training."""
    def __init__(self):
        self.samples, self.began = 0, time.perf_counter()
    def tell(self, model):
        seconds = time.perf_counter() - self.began
        numbers = sum(float(p.detach().double().sum()) for p in model.parameters())
        print(f"OWN {2 * self.samples / seconds:.2f}")
        print(f"NUMBERS {numbers:.9f}")
