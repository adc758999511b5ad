"""The optimiser: Muon for the layers' matrices, AdamW for all else.

Muon (Jordan et al. 2024): the momentum of a matrix is replaced by the nearest matrix with singular values about one, found by
STEPS steps of a quintic Newton-Schulz iteration, so that all directions learn at one rate.  Matrices of one shape go together.
"""
import torch

STEPS, MOMENTUM = 5, 0.95
A, B, C = 3.4445, -4.775, 2.0315
NARROW = 0.1   # the rate of AdamW, by that of Muon


def orthogonal(g):
    """g [n, r, c] -> the same, singular values of each of the n about 1."""
    turned = g.shape[1] > g.shape[2]
    x = g.mT if turned else g
    x = (x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)).bfloat16()
    for _ in range(STEPS):
        s = x @ x.mT
        x = A * x + (B * s + C * (s @ s)) @ x
    return (x.mT if turned else x).float()


class Muon(torch.optim.Optimizer):
    def __init__(self, matrices, rate):
        super().__init__(matrices, dict(lr=rate))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            by_shape = {}
            for p in group["params"]:
                if p.grad is not None:
                    by_shape.setdefault(p.shape, []).append(p)
            for (rows, columns), some in by_shape.items():
                for p in some:
                    self.state[p].setdefault("momentum", torch.zeros_like(p)).lerp_(p.grad, 1 - MOMENTUM)
                ahead = torch.stack([torch.lerp(p.grad, self.state[p]["momentum"], MOMENTUM) for p in some])
                for p, turn in zip(some, orthogonal(ahead)):
                    p.add_(turn, alpha=-group["lr"] * max(1.0, rows / columns) ** 0.5)


class Both:
    """One optimiser of the two."""

    def __init__(self, model, rate):
        learned = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
        inner = [p for n, p in learned if n.startswith("layers.") and p.dim() == 2]
        wide = [p for n, p in learned if not n.startswith("layers.") and p.dim() == 2]
        flat = [p for _, p in learned if p.dim() < 2]
        groups = [dict(params=wide, weight_decay=0.01), dict(params=flat, weight_decay=0.0)]
        self.parts = Muon(inner, rate), torch.optim.AdamW(groups, rate * NARROW, betas=(0.9, 0.95), fused=True)

    def rate(self, rate):
        for part, by in zip(self.parts, (1.0, NARROW)):
            for group in part.param_groups:
                group["lr"] = rate * by

    def step(self):
        for part in self.parts:
            part.step()
            part.zero_grad()

    def state_dict(self):
        return [part.state_dict() for part in self.parts]

    def load_state_dict(self, state):
        for part, own in zip(self.parts, state, strict=True):
            part.load_state_dict(own)
