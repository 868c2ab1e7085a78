"""timm: create_model, its optimizer, scheduler, loss and averaged weights, in train.py's order"""
import timm
from timm.loss import LabelSmoothingCrossEntropy
from timm.optim import create_optimizer_v2
from timm.scheduler import create_scheduler_v2
from timm.utils import AverageMeter, ModelEmaV3, distribute_bn, init_distributed_device, random_seed, reduce_tensor, unwrap_model
from types import SimpleNamespace
from torch.nn.parallel import DistributedDataParallel as NativeDDP
args = SimpleNamespace(device="cpu", dist_backend="gloo", epochs=2, clip_grad=1.0)
device = init_distributed_device(args)
random_seed(42, args.rank)
model = timm.create_model("test_resnet", pretrained=False, num_classes=2).to(device)
optimizer = create_optimizer_v2(model, opt="adamw", lr=1e-3, weight_decay=0.05)
model_ema = ModelEmaV3(model, decay=0.99)
model = NativeDDP(model)
images = TensorDataset(torch.randn(96, 3, 96, 96), torch.randint(0, 2, (96,)))
sampler = DistributedSampler(images)
loader_train = DataLoader(images, batch_size=8, sampler=sampler, drop_last=True)
loader_eval = DataLoader(images, batch_size=8, sampler=DistributedSampler(images, shuffle=False))
train_loss_fn, validate_loss_fn = LabelSmoothingCrossEntropy(0.1), nn.CrossEntropyLoss()
lr_scheduler, num_epochs = create_scheduler_v2(
    optimizer, sched="cosine", num_epochs=args.epochs, warmup_epochs=1, updates_per_epoch=len(loader_train)
)
def train_one_epoch(epoch):
    losses, updates = AverageMeter(), epoch * len(loader_train)
    model.train()
    for batch_idx, (x, y) in enumerate(loader_train):
        time.sleep(0.05)
        loss = train_loss_fn(model(x.to(device)), y.to(device))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), args.clip_grad)
        optimizer.step()
        optimizer.zero_grad()
        updates += 1
        model_ema.update(unwrap_model(model), step=updates)
        losses.update(loss.item(), len(x))
        lr_scheduler.step_update(num_updates=updates, metric=losses.avg)
        clock.samples += len(x)
    return losses.avg
@torch.inference_mode()
def validate():
    model.eval()
    losses = AverageMeter()
    for x, y in loader_eval:
        losses.update(reduce_tensor(validate_loss_fn(model(x), y), args.world_size).item(), len(x))
    return losses.avg
clock, aside = Clock(), 0.0
for epoch in range(args.epochs):
    sampler.set_epoch(epoch)
    train_one_epoch(epoch)
    began = time.perf_counter()
    distribute_bn(model, args.world_size, True)
    print(f"Validation: {validate():.3f}")
    lr_scheduler.step(epoch + 1)
    aside += time.perf_counter() - began
assert args.world_size == 2
clock.began += aside
clock.tell(model)
