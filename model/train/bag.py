"""A bag of words: a text as a weighted mean of its tokens' vectors, exactly what the layers compute that quill_built.py makes of it.

A token weighs by what it is, in questions and in passages apart, and in passages less after newlines: titles weigh more.
"""
import re

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

WINDOW = 6  # of co-occurrence, in tokens
ENDINGS = ("ations", "ation", "ings", "ing", "ers", "ies", "ied", "es", "ed", "er", "s", "e")


def stem(word):
    for end in ENDINGS:
        if word.endswith(end) and len(word) - len(end) >= 3:
            word = word[:-len(end)] + "i" * (end in ("ies", "ied"))
            break
    if len(word) > 3 and word[-1] == word[-2]:
        word = word[:-1]
    return word[:-1] + "i" if len(word) > 3 and word[-1] == "y" else word


def forms_of(tokenizer):
    """For every token the number of its form: without case, the mark or space before it, and endings.  And which hold a newline."""
    numbers, forms, newline = {}, [], []
    for i in range(tokenizer.get_vocab_size()):
        text = tokenizer.decode([i])
        form = stem(re.sub(r"^[\W_]+", "", text).lower()) or text
        forms.append(numbers.setdefault(form, len(numbers)))
        newline.append("\n" in text)
    return torch.tensor(forms), torch.tensor(newline)


def co_occurrence(stream, vocabulary, width):
    """[vocabulary, width]: a factored table of positive pointwise mutual information."""
    stream = torch.from_numpy(stream.astype(np.int64))
    counts = torch.zeros(vocabulary * vocabulary)
    for distance in range(1, WINDOW + 1):
        counts += torch.bincount(stream[:-distance] * vocabulary + stream[distance:], minlength=vocabulary * vocabulary).float() / distance
    counts = counts.view(vocabulary, vocabulary)
    counts += counts.T.clone()
    row = counts.sum(0)
    context = row ** 0.75
    context /= context.sum()
    counts.div_((row[:, None] * context[None]).clamp_min_(1e-9)).clamp_min_(1.0).log_()
    u, s, _ = torch.svd_lowrank(counts, q=width + 32, niter=2)
    vectors = F.normalize(u[:, :width] * s[:width] ** 0.5, dim=-1)
    vectors[row < 1] = 0
    return vectors


class Bag(nn.Module):
    """newline: which tokens hold one; width: of their vectors; keys: of keys."""

    def __init__(self, newline, width, keys):
        super().__init__()
        vocabulary = len(newline)
        self.table = nn.Parameter(torch.zeros(vocabulary, width))
        self.asked, self.said = (nn.Parameter(torch.zeros(vocabulary)) for _ in range(2))
        self.first, self.log_sink = nn.Parameter(torch.tensor(1.0)), nn.Parameter(torch.tensor(0.7))
        self.matrix, self.bias = nn.Parameter(torch.eye(width, keys)), nn.Parameter(torch.zeros(keys))
        self.log_scale = nn.Parameter(torch.tensor(3.0))
        self.register_buffer("newline", newline)

    def sink(self):
        """After n newlines a passage's token has first * sink / (sink + n) more of a weight's logarithm."""
        return self.log_sink.exp().clamp_min(1.05)

    def mean(self, texts, question):
        ids = torch.from_numpy(np.concatenate(texts).astype(np.int64))
        begin = torch.tensor(np.cumsum([0] + [len(t) for t in texts[:-1]]))
        row = torch.tensor(np.repeat(np.arange(len(texts)), [len(t) for t in texts]))
        weight = (self.asked if question else self.said)[ids]
        if not question:
            lines = self.newline[ids].float().cumsum(0)
            before = lines[begin] - self.newline[ids[begin]].float()
            lines = lines - before[row]
            weight = weight + self.first * self.sink() / (self.sink() + lines)
        weight = weight.clamp(-9, 5).exp()
        total = torch.zeros(len(texts)).index_add(0, row, weight)
        return F.embedding_bag(ids, F.normalize(self.table, dim=-1), begin, mode="sum", per_sample_weights=weight) / total[:, None]

    def key(self, texts, question):
        return F.normalize(self.mean(texts, question) @ self.matrix + self.bias, dim=-1)

    @torch.no_grad()
    def start(self, vectors, forms, passages):
        """Given vectors, a random one of the form, a random one of the token; weights of rarity; whitened by the passages."""
        seen, (width, keys) = torch.ones(len(self.asked)), self.matrix.shape
        for text in passages:
            seen[np.unique(text).astype(np.int64)] += 1
        rarity = (len(passages) / seen).log().clamp_min(0.07)
        u, s, _ = torch.svd_lowrank(vectors - vectors.mean(0), q=width, niter=2)
        vectors = F.normalize(u * s ** 0.5, dim=-1)  # strongest directions damped: words are to be told apart
        form = F.normalize(torch.randn(int(forms.max()) + 1, width), dim=-1)
        own = F.normalize(torch.randn(*self.table.shape), dim=-1)
        self.table.copy_(F.normalize(vectors + form[forms] + 0.5 * own, dim=-1))
        self.asked.copy_(1.5 * (rarity / 5).log())
        self.said.copy_(self.asked)
        rows = self.mean([t[:128] for t in passages[:8000]], False)
        middle = rows.mean(0)
        values, to = torch.linalg.eigh((rows - middle).T @ (rows - middle) / len(rows))
        most = min(width, keys)  # their largest directions, where a key has not room for all
        self.matrix.zero_()
        whiten = to / values.clamp_min(1e-6).sqrt() @ to.T if width <= keys else to[:, -most:] / values[-most:].sqrt()
        self.matrix[:, :most] = whiten / keys ** 0.5
        self.bias.copy_(-middle @ self.matrix)
