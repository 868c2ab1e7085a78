"""torchtune: a recipe of its own parts, a small Llama 3 sharded by FSDP2, two batches accumulated"""
from functools import partial
from omegaconf import OmegaConf
from torchtune import config, modules, training, utils
from torchtune.models.llama3 import llama3
cfg = OmegaConf.create({
    "optimizer": {"_component_": "torch.optim.AdamW", "lr": 1e-3},
    "loss": {"_component_": "torchtune.modules.loss.CEWithChunkedOutputLoss", "num_output_chunks": 2},
    "batch_size": 8, "gradient_accumulation_steps": 2, "clip_grad_norm": 1.0, "seed": 7,
})
class FullFinetuneRecipeDistributed:
    def __init__(self, cfg):
        self._device = utils.get_device("cpu")
        self._dtype = training.get_dtype("fp32", device=self._device)
        if not dist.is_initialized():
            dist.init_process_group("gloo")
        self.world_size, self.rank = utils.get_world_size_and_rank()
        training.set_seed(cfg.seed)
    def setup(self, cfg):
        self._model = llama3(
            vocab_size=64, num_layers=2, num_heads=4, num_kv_heads=2, embed_dim=32, max_seq_len=16, intermediate_dim=64
        )
        training.shard_model(
            model=self._model, shard_conditions=[partial(training.get_shard_conditions, names_to_match=None)],
            cpu_offload=False, reshard_after_forward=True,
        )
        self._loss_fn = config.instantiate(cfg.loss)
        self._model.set_num_output_chunks(self._loss_fn.num_output_chunks)
        self._optimizer = config.instantiate(cfg.optimizer, self._model.parameters())
        tokens = torch.randint(0, 64, (960, 17))
        sampler = DistributedSampler(TensorDataset(tokens), shuffle=True, seed=0)
        self._dataloader = DataLoader(TensorDataset(tokens), batch_size=cfg.batch_size, sampler=sampler, drop_last=True)
    def train(self, cfg):
        self._optimizer.zero_grad()
        for idx, (tokens,) in enumerate(self._dataloader):
            time.sleep(0.015)
            logits = self._model(tokens[:, :-1])
            loss = self._loss_fn(logits, tokens[:, 1:])
            loss.backward()
            clock.samples += len(tokens)
            if (idx + 1) % cfg.gradient_accumulation_steps == 0:
                training.scale_grads(self._model, torch.tensor(1 / cfg.gradient_accumulation_steps))
                nn.utils.clip_grad_norm_(self._model.parameters(), max_norm=float(cfg.clip_grad_norm))
                self._optimizer.step()
                self._optimizer.zero_grad(set_to_none=True)
recipe = FullFinetuneRecipeDistributed(cfg)
recipe.setup(cfg)
clock = Clock()
recipe.train(cfg)
seconds = time.perf_counter() - clock.began
whole = [p.full_tensor() if hasattr(p, "full_tensor") else p for p in recipe._model.parameters()]
print(f"OWN {2 * clock.samples / seconds:.2f}")
print(f"NUMBERS {sum(float(p.detach().double().sum()) for p in whole):.9f}")
