"""DeepSpeed: deepspeed.initialize with ZeRO stage 1, two batches accumulated (its cifar example's style)"""
import argparse
import deepspeed
parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=-1)
parser = deepspeed.add_config_arguments(parser)
args = parser.parse_args()
config = {
    "train_micro_batch_size_per_gpu": 8,
    "gradient_accumulation_steps": 2,
    "gradient_clipping": 1.0,
    "zero_optimization": {"stage": 1},
    "zero_allow_untested_optimizer": True,
}
deepspeed.init_distributed()
model = Net()
engine, optimizer, batches, _ = deepspeed.initialize(
    args=args, model=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.01), training_data=data, config=config
)
clock = Clock()
for x, y in batches:
    loss = loss_of(engine(x.to(engine.device)), y.to(engine.device))
    engine.backward(loss)
    engine.step()
    clock.samples += len(x)
assert engine.world_size == 2
clock.tell(engine.module)
