"""Text that tokenizers get wrong: fixed lines, and seeded random ones."""
import os
import random
import unicodedata

FIXED = [
    "", " ", "  ", "   ", "\t", "\n", "\r\n", "\n\n", " \n", "\n ", " \n \n ", "\t\t\n", "\u00a0", "\u00a0\u00a0x",
    "\u2003a", "\u3000", "\u180e", "a\u180eb", "\u200b", "\ufeffBOM", "a\u0085b", "a\x0bb\x0cc", "x\u2028y\u2029z",
    "Hello, world!", " Hello", "  Hello", "   Hello world", "Hello   world", "Hello world ", "Hello world  ", "Hello\n",
    "Hello\n\n\nworld\n", "Hello \n world", "I'm you're he'll she'd we've it's 'tis don't", "I'M YOU'RE HE'LL SHE'D",
    "'s's 'S", "it\u2019s", "'\u017f", "\u212a", "can''t", "1", "12", "123", "1234", "12345678901234567890", "3.14159", "1,000,000",
    "0x7fff", "a1b2c3", "v1.2.3-rc4", "\u0661\u0662\u0663", "\u00bd \u2167 \u00b2", "\u2460\u2461", "\u0e51\u0e52", "()", "(a)", "...", "!!!???",
    "a.b.c", "foo_bar __init__", "snake_case_name", "CamelCaseName", "--flag=value", "/usr/share/doc", "C:\\Users\\x",
    "https://example.org/a?b=c&d=e#f", "user@example.org", "<p class=\"x\">a &amp; b</p>", "```c\nint main(void)\n{\n    return 0;\n}\n```",
    "\tif (x)\n\t\treturn;\n", "    def f(self):\n        return self\n", "a+b=c*d/e%f^g&h|i~j", "$100 \u20ac5 \u00a37 \u00a59",
    "na\u00efve caf\u00e9", "nai\u0308ve cafe\u0301", "e\u0301", "\u00e9", "A\u030a \u00c5 \u212b", "\u1e9b\u0323", "\u0323\u0307a", "a\u0307\u0323",
    "q\u0307\u0323 q\u0323\u0307", "\ufb01 \ufb02 \u00b5", "\u03a9 \u2126", "\u0344 \u0340 \u0341", "\u1100\u1161\u11a8", "\uac01", "\u1112\u1161\u11ab\u1100\u1173\u11af", "\u0958 \u0915\u093c",
    "\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e", "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35\u0e0a\u0e32\u0e27\u0e42\u0e25\u0e01", "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645", "\u05e9\u05dc\u05d5\u05dd", "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440!",
    "\u4f60\u597d\uff0c\u4e16\u754c", "\u4f60\u597dworld\u4f60\u597d", "\u3053\u3093\u306b\u3061\u306f\u3001\u4e16\u754c\uff01", "\uff28\uff45\uff4c\uff4c\uff4f", "\uff11\uff12\uff13", "\uc548\ub155\ud558\uc138\uc694", "\u0391\u03bd\u03b8\u03c1\u03c9\u03c0\u03bf\u03c2",
    "\U0001f600", "\U0001f600\U0001f600", " \U0001f600 ", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f44d\U0001f3fd", "\U0001f1e9\U0001f1ea", "\u2764\ufe0f", "a\U0001f600b", "\U00010348", "\U0001d54f", "\U000e0001", "\U0010ffff", "\ue000", "\ufffd", "\ufffe",
    "\x01\x02\x7f", "a\x00b".replace("\x00", "\x1f"), "\x1b[31mred\x1b[0m", "\u0300", " \u0300", "a \u0300b", "\u20dd", "\u034f", "\u00ad soft\u00adhyphen", "\u0130 \u0131 \u00df \u1e9e",
    "<|endoftext|>", "<|im_start|>user\nhi<|im_end|>\n", "a<|endoftext|>b", "<|endoftext|><|endoftext|>", " <|endoftext|> ", "<|endoftext", "endoftext|>",
    "<think>x</think>", "<tool>", " <tool> ", "x <tool>  y", "<tool><tool>", "\n<tool>\t", "word", "wordy", "a word.", "word word", "sword words word", "_word_", "word\u0301", "caf\u00e9word", "\u00c5ngstr\u00f6m", "A\u030angstro\u0308m", "[PAD][PAD]", "[MASK] x[MASK]", "x [MASK]",
    "a" * 40, "ab" * 40, " " * 33, " " * 64 + "x", "\n" * 40, "-" * 80, "=" * 33, "0" * 40, "\u00e9" * 40, "\u4e2d" * 40, "\U0001f600" * 20, "aA" * 33, " a" * 33, "the " * 40, "\t" * 17 + "x", " \t" * 20, "\r\n" * 20, "." * 50 + " " + "." * 50,
    "The quick brown fox jumps over the lazy dog.", "THE QUICK BROWN FOX", "SELECT * FROM t WHERE a = 'b''c';", "for (int i = 0; i < n; i++) { x[i] += y[i]; }",
    "GRANT { { SELECT | INSERT } [, ...] | ALL [ PRIVILEGES ] }", "E = mc\u00b2", "\u2211_{i=1}^n x_i", "\\begin{equation}\\alpha\\end{equation}", "x\u0338 \u2260 =\u0338",
]

SCRIPTS = [(0x20, 0x7E), (0xA0, 0x17F), (0x300, 0x36F), (0x370, 0x3FF), (0x400, 0x4FF), (0x590, 0x6FF), (0x900, 0xDFF), (0xE00, 0xEFF),
           (0x1100, 0x11FF), (0x1E00, 0x1FFF), (0x2000, 0x2BFF), (0x3000, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3),
           (0xF900, 0xFAFF), (0xFE00, 0xFFFD), (0x10000, 0x1FFFF), (0x20000, 0x2FFFF), (0xE0000, 0xE01FF)]
SPACES = " \t\n\r\x0b\x0c\u0085\u00a0\u1680\u2000\u2009\u2028\u2029\u202f\u205f\u3000"
BITS = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'LL", " ", "  ", "\n", "\r\n", "\n\n", "1", "22", "333", "4444", "a", "the", "Ab",
        "\u0301", "e\u0301", ".", "...", "!?", "(", "_", "-", "<|endoftext|>", "<tool>", "word", "\U0001f600", "\u4e2d\u6587", "\u00a0", "\t"]


def char(rng):
    low, high = rng.choice(SCRIPTS)
    while True:
        c = rng.randint(low, high)
        if not 0xD800 <= c <= 0xDFFF:
            return chr(c)


def random_line(rng):
    kind = rng.randrange(6)
    if kind == 0:
        low, high = rng.choice(SCRIPTS)
        return "".join(chr(c) for c in (rng.randint(low, high) for _ in range(rng.randint(1, 60))) if not 0xD800 <= c <= 0xDFFF)
    if kind == 1:
        return "".join(char(rng) for _ in range(rng.randint(1, 40)))
    if kind == 2:
        return "".join(rng.choice(SPACES) * rng.randint(1, 4) + rng.choice(BITS) * rng.randint(0, 2) for _ in range(rng.randint(1, 20)))
    if kind == 3:
        return "".join(rng.choice(BITS) for _ in range(rng.randint(1, 40)))
    if kind == 4:
        return "".join(chr(rng.randint(0x20, 0x7E)) for _ in range(rng.randint(1, 80)))
    base = "".join(rng.choice("aeiounAEIOU") + chr(rng.randint(0x300, 0x345)) * rng.randint(0, 3) for _ in range(rng.randint(1, 15)))
    return unicodedata.normalize(rng.choice(["NFC", "NFD", "NFKC", "NFKD"]), base)


def random_lines(seed, count):
    rng = random.Random(seed)
    return [random_line(rng) for _ in range(count)]


def text_lines(folders, limit):
    """Lines of the text files below the folders, in the order of their names."""
    lines = []
    for folder in folders:
        for root, names, files in os.walk(folder):
            names.sort()
            for name in sorted(files):
                if name.endswith((".gz", ".png", ".pdf", ".jpg")):
                    continue
                try:
                    with open(os.path.join(root, name), encoding="utf-8") as f:
                        lines += f.read(200000).splitlines(keepends=True)
                except (OSError, UnicodeDecodeError):
                    continue
                if len(lines) >= limit * 3:
                    return lines
    return lines
