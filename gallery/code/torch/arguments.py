"""main() with argparse, meters, a StepLR, validation and a checkpoint each epoch (pytorch/examples' imagenet and mnist)"""
import argparse, os, shutil, tempfile
from torch.nn.parallel import DistributedDataParallel
from torch.optim.lr_scheduler import StepLR
class AverageMeter:
    def __init__(self, name): self.name, self.sum, self.count = name, 0.0, 0
    def update(self, value, n=1): self.sum, self.count = self.sum + value * n, self.count + n
    def all_reduce(self):
        total = torch.tensor([self.sum, self.count], dtype=torch.float32)
        dist.all_reduce(total, dist.ReduceOp.SUM, async_op=False)
        self.sum, self.count = total.tolist()
    @property
    def avg(self): return self.sum / max(1, self.count)
parser = argparse.ArgumentParser(description="PyTorch Training")
parser.add_argument("data", metavar="DIR", nargs="?", default="imagenet")
parser.add_argument("--epochs", default=2, type=int, metavar="N")
parser.add_argument("-b", "--batch-size", default=32, type=int)
parser.add_argument("--lr", "--learning-rate", default=0.1, type=float, dest="lr")
parser.add_argument("--dist-url", default="env://", type=str)
parser.add_argument("--dist-backend", default="gloo", type=str)
parser.add_argument("--world-size", default=-1, type=int)
parser.add_argument("--rank", default=-1, type=int)
parser.add_argument("--no-accel", action="store_true")
aside = 0.0
def train(loader, model, criterion, optimizer, epoch):
    losses = AverageMeter("Loss")
    model.train()
    for i, (images, target) in enumerate(loader):
        output = model(images)
        loss = criterion(output, target)
        losses.update(loss.item(), images.size(0))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        clock.samples += len(images)
def validate(loader, model, criterion):
    losses, top1 = AverageMeter("Loss"), AverageMeter("Acc@1")
    model.eval()
    with torch.no_grad():
        for images, target in loader:
            output = model(images)
            losses.update(criterion(output, target).item(), images.size(0))
            top1.update((output.argmax(1) == target).float().mean().item(), images.size(0))
    top1.all_reduce()
    return top1.avg
def main():
    global clock, aside
    args = parser.parse_args()
    if args.dist_url == "env://" and args.world_size == -1:
        args.world_size = int(os.environ["WORLD_SIZE"])
    if args.dist_url == "env://" and args.rank == -1:
        args.rank = int(os.environ["RANK"])
    dist.init_process_group(backend=args.dist_backend, init_method=args.dist_url, world_size=args.world_size, rank=args.rank)
    args.batch_size = int(args.batch_size / args.world_size)
    model = DistributedDataParallel(Net())
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), args.lr, momentum=0.9, weight_decay=1e-4)
    scheduler = StepLR(optimizer, step_size=1, gamma=0.7)
    sampler, val_sampler = DistributedSampler(data), DistributedSampler(data, shuffle=False, drop_last=True)
    loader = DataLoader(data, args.batch_size, shuffle=(sampler is None), sampler=sampler)
    val_loader = DataLoader(data, 48, shuffle=False, sampler=val_sampler)
    best, clock = 0.0, Clock()
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        train(loader, model, criterion, optimizer, epoch)
        began = time.perf_counter()
        top1 = validate(val_loader, model, criterion)
        scheduler.step()
        if args.rank == 0:
            with tempfile.TemporaryDirectory() as folder:
                torch.save({"epoch": epoch + 1, "state_dict": model.state_dict()}, f"{folder}/checkpoint.pth.tar")
                if top1 > best:
                    shutil.copyfile(f"{folder}/checkpoint.pth.tar", f"{folder}/model_best.pth.tar")
        best = max(top1, best)
        aside += time.perf_counter() - began
    clock.began += aside
    clock.tell(model)
if __name__ == "__main__":
    main()
