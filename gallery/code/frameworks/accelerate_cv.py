"""Accelerate: a training function with a scheduler, accumulation, evaluation with gather_for_metrics, save_state"""
import os, tempfile
from accelerate import Accelerator
from accelerate.utils import set_seed
def training_function(config):
    accelerator = Accelerator(gradient_accumulation_steps=config["accumulate"])
    set_seed(config["seed"])
    train_loader, eval_loader = DataLoader(data, shuffle=True, batch_size=config["batch_size"]), DataLoader(data, batch_size=48)
    model = Net().to(accelerator.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=config["lr"])
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=config["lr"], epochs=2, steps_per_epoch=len(train_loader))
    model, optimizer, train_loader, eval_loader, scheduler = accelerator.prepare(
        model, optimizer, train_loader, eval_loader, scheduler)
    clock, aside = Clock(), 0.0
    for epoch in range(config["epochs"]):
        model.train()
        for x, y in train_loader:
            with accelerator.accumulate(model):
                loss = loss_of(model(x), y)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
            clock.samples += len(x)
        began = time.perf_counter()
        model.eval()
        accurate, seen = 0, 0
        for x, y in eval_loader:
            with torch.no_grad():
                predictions = model(x).argmax(dim=-1)
            predictions, y = accelerator.gather_for_metrics((predictions, y))
            accurate, seen = accurate + (predictions == y).sum().item(), seen + len(y)
        assert seen == len(data)
        with tempfile.TemporaryDirectory() as folder:
            accelerator.save_state(os.path.join(folder, f"epoch_{epoch}"))
        aside += time.perf_counter() - began
    clock.began += aside
    assert accelerator.num_processes == 2
    clock.tell(model)
    accelerator.end_training()
training_function({"lr": 3e-3, "epochs": 2, "seed": 42, "batch_size": 8, "accumulate": 2})
