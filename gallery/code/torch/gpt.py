"""A small GPT: DDP, AdamW with weight decay groups, clipped gradients, a schedule, accumulation by hand (nanoGPT's style)"""
import math, os
from contextlib import nullcontext
from torch.nn.parallel import DistributedDataParallel as DDP
gradient_accumulation_steps, batch_size, block_size, max_iters, warmup = 4, 8, 16, 12, 3
ddp_rank, ddp_world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
if not dist.is_initialized():
    dist.init_process_group("gloo")
gradient_accumulation_steps //= ddp_world_size
torch.manual_seed(1337 + ddp_rank)
tokens = torch.randint(0, 64, (10_000,))
class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        h = self.norm1(x)
        x = x + self.attention(h, h, h, attn_mask=mask, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))
class GPT(nn.Module):
    def __init__(self, vocabulary=64, width=32, layers=2):
        super().__init__()
        self.token, self.position = nn.Embedding(vocabulary, width), nn.Embedding(block_size, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(layers))
        self.head = nn.Linear(width, vocabulary, bias=False)
    def forward(self, idx, targets=None):
        time.sleep(0.015)
        x = self.token(idx) + self.position(torch.arange(idx.shape[1]))
        for block in self.blocks:
            x = block(x)
        logits = self.head(x)
        if targets is None:
            return logits, None
        return logits, nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
def get_batch():
    starts = torch.randint(len(tokens) - block_size - 1, (batch_size,))
    x = torch.stack([tokens[i : i + block_size] for i in starts])
    return x, torch.stack([tokens[i + 1 : i + 1 + block_size] for i in starts])
@torch.no_grad()
def estimate_loss():
    model.eval()
    losses = [model(*get_batch())[1].item() for _ in range(4)]
    model.train()
    return sum(losses) / len(losses)
model = DDP(GPT())
raw = model.module
decay = [p for p in raw.parameters() if p.dim() >= 2]
rest = [p for p in raw.parameters() if p.dim() < 2]
optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}], lr=1e-3)
clock, aside = Clock(), 0.0
X, Y = get_batch()
for it in range(max_iters):
    for group in optimizer.param_groups:
        group["lr"] = 1e-3 * min(1.0, (it + 1) / warmup) * (0.5 + 0.5 * math.cos(math.pi * it / max_iters))
    if it % 5 == 0:
        began = time.perf_counter()
        losses = estimate_loss()
        aside += time.perf_counter() - began
    for micro in range(gradient_accumulation_steps):
        model.require_backward_grad_sync = micro == gradient_accumulation_steps - 1
        _, loss = model(X, Y)
        (loss / gradient_accumulation_steps).backward()
        clock.samples += len(X)
        X, Y = get_batch()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
clock.began += aside
clock.tell(model)
