"""ResNet-18 on CIFAR-10 with PyTorch on Ascend NPUs, NVIDIA GPUs or CPUs.

As a job: a notebook beside this file, with the cells `import torch` and `%run resnet18_cifar10.py`. By hand:
torchrun --nproc-per-node=8 resnet18_cifar10.py. Data: the Python version of CIFAR-10, unpacked, below --data;
random images without --data.

Run by dtrain-lab's tests on CPUs. Not run on NPUs: that needs the devices, the vendor's driver and torch_npu.
"""

import argparse
import importlib.util
import os
import pickle
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

import dtrain_lab as dt

if importlib.util.find_spec("torch_npu"):
    import torch_npu  # noqa: F401 # it adds torch.npu, and HCCL to torch.distributed

MEAN, DEVIATION = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)


class Block(nn.Module):
    """Two convolutions and a shortcut."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.second = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norms = nn.ModuleList([nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)])
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != outputs:
            down = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            self.shortcut = nn.Sequential(down, nn.BatchNorm2d(outputs))

    def forward(self, x):
        """Return the block's output."""
        y = functional.relu(self.norms[0](self.first(x)))
        return functional.relu(self.norms[1](self.second(y)) + self.shortcut(x))


def resnet18():
    """ResNet-18 for images of 32 × 32: its first convolution is 3 × 3, and there is no pooling after it."""
    layers = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
    inputs = 64
    for outputs, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [Block(inputs, outputs, stride), Block(outputs, outputs, 1)]
        inputs = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


def images(folder, files):
    """Read images and labels; random ones without a folder."""
    if folder is None:
        random = torch.Generator().manual_seed(0)
        labels = torch.randint(10, (512,), generator=random)
        return TensorDataset(
            torch.randn(512, 3, 32, 32, generator=random) + labels[:, None, None, None], labels
        )
    parts = [pickle.loads((Path(folder) / name).read_bytes(), encoding="bytes") for name in files]
    data = torch.cat([torch.tensor(part[b"data"]).reshape(-1, 3, 32, 32) for part in parts]).float() / 255
    mean, deviation = torch.tensor(MEAN)[:, None, None], torch.tensor(DEVIATION)[:, None, None]
    return TensorDataset(
        (data - mean) / deviation, torch.tensor([label for part in parts for label in part[b"labels"]])
    )


def device_and_backend():
    """Return this rank's device, and the back-end that connects such devices."""
    local_rank = int(os.environ.get("LOCAL_RANK", 0))
    if hasattr(torch, "npu") and torch.npu.is_available():
        device = torch.device("npu", local_rank % torch.npu.device_count())
        torch.npu.set_device(device)
        return device, "cpu:gloo,npu:hccl"
    if torch.cuda.is_available():
        device = torch.device("cuda", local_rank % torch.cuda.device_count())
        torch.cuda.set_device(device)
        return device, "cpu:gloo,cuda:nccl"
    return torch.device("cpu"), "gloo"


def main():
    """Train, and print the accuracy of each epoch."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", help="folder cifar-10-batches-py; random images without it")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch", type=int, default=128, help="images of each rank in a step")
    parser.add_argument("--steps", type=int, help="at most so many in an epoch")
    given = parser.parse_args()
    device, backend = device_and_backend()
    if not dist.is_initialized():
        dist.init_process_group(backend)
    torch.manual_seed(0)
    training = images(given.data, [f"data_batch_{number}" for number in range(1, 6)])
    test = images(given.data, ["test_batch"])
    sampler = DistributedSampler(training)
    loader = DataLoader(training, given.batch, sampler=sampler, drop_last=True)
    tests = DataLoader(test, given.batch, sampler=DistributedSampler(test, shuffle=False))
    ids = None if device.type == "cpu" else [device.index]
    model = DistributedDataParallel(resnet18().to(device), device_ids=ids)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, given.epochs)
    for epoch in range(given.epochs):
        sampler.set_epoch(epoch)
        model.train()
        for step, (x, y) in enumerate(loader):
            if step == given.steps:
                break
            loss = functional.cross_entropy(model(x.to(device)), y.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        scheduler.step()
        model.eval()
        right = torch.zeros(2, device=device)
        with torch.no_grad():
            for step, (x, y) in enumerate(tests):
                if step == given.steps:
                    break
                found = model(x.to(device)).argmax(1) == y.to(device)
                right += torch.stack([found.sum(), torch.tensor(len(y), device=device)])
        dist.all_reduce(right)
        accuracy = (right[0] / right[1]).item()
        dt.log(epoch, loss=loss.item(), accuracy=accuracy)
        if dist.get_rank() == 0:
            print(
                f"epoch {epoch}: loss {loss.item():.3f}, accuracy {accuracy:.3f}, "
                f"{dist.get_world_size()} × {device.type}"
            )
            torch.save(model.module.state_dict(), dt.checkpoint_dir() / "resnet18.pt")


if __name__ == "__main__":
    main()
