"""FSDP2 (fully_shard), four batches accumulated"""
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
model = fully_shard(Net(), mesh=init_device_mesh("cpu", (2,)))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
clock = Clock()
for i, (x, y) in enumerate(DataLoader(data, batch_size=8, sampler=DistributedSampler(data))):
    model.set_requires_gradient_sync(i % 4 == 3)
    loss_of(model(x), y).backward()
    clock.samples += len(x)
    if i % 4 == 3:
        optimizer.step()
        optimizer.zero_grad()
seconds = time.perf_counter() - clock.began
print(f"OWN {2 * clock.samples / seconds:.2f}")
print(f"NUMBERS {sum(float(p.full_tensor().double().sum()) for p in model.parameters()):.9f}")
