/* Registers, instructions and packets that the package bytefield draws. */
#include "tests/unit/support/latex_in_memory.h"

/* The parts of a register or an instruction, in the order of their bits. */
static void test_bytefield(void **state)
{
    (void)state;
    expect("\\begin{bytefield}[bitwidth=1em]{16}\\bitheader[endianness=big]"
           "{0,7,15}\\\\ \\bitbox[lrt]{8}[bgcolor=gray]{Opcode}\n"
           "\\bitbox{8}{rd}\\\\ \\bitboxes{1}{{N}{Z}01}\\\\"
           "\\begin{rightwordgroup}{Body}\\wordbox[tlr]{2}{Data}"
           "\\end{rightwordgroup}\\end{bytefield}after",
           "table: 15-8: Opcode\t7-0: rd\n15: N\t14: Z\t13: 0\t12: 1\n"
           "Body\tData | paragraph: after");
    /* Its own breaks are none of the table; a height is not shown. */
    expect("\\begin{bytefield}{24}\\bytefieldsetup{bitheight=2ex}"
           "\\bitbox[]{10}{0x0 \\\\ 0x8}\\bitbox{16}{RAM}\\\\"
           "\\bitbox{24}{c}\\end{bytefield}",
           "table: 0x0 0x8\tRAM\nc");
    /* From the left, unless it is said; of other bits, or without numbers: none. */
    expect("\\begin{bytefield}{32}\\bitheader{0-31}\\\\\\bitbox{4}{V}"
           "\\bitbox{28}{}\\\\\\bitbox{16}{L}\\\\\\bitbox{8}{T}"
           "\\end{bytefield}",
           "table: 0-3: V\n0-15: L\n0-7: T");
    expect("\\begin{bytefield}[endianness=big]{8}\\bitheader{a,b}\\\\"
           "\\bitbox{4}{V}\\end{bytefield}",
           "table: a,b\nV");
    expect("\\begin{bytefield}{8}\\bitheader{8-15}\\\\\\bitbox{4}{V}"
           "\\end{bytefield}",
           "table: 8-15\nV");
    expect(
        "\\begin{tabular}{l}\\begin{bytefield}{8}\\bitbox{4}{a}\\bitbox{4}{b}"
        "\\end{bytefield}\\\\c\\end{tabular}",
        "table: a b\nc");
}

/* As instruction sets are drawn: version 1 of the package says "b" of the order. */
static void test_instructions(void **state)
{
    (void)state;
    expect("\\begin{bytefield}{32}\\bitheader[endianness=big]{0,5,6,10,1"
           "1,15,16,20,21,25,26,31} \\\\\\bitbox{6}{op} & \\bitbox{5}{rs"
           "} & \\bitbox{5}{rt} & \\bitbox{5}{rd} & \\bitbox{5}{sh} & \\b"
           "itbox{6}{funct} \\\\\\end{bytefield}",
           "table: 31-26: op	25-21: rs	20-16: rt	15-11: "
           "rd	10-6: sh	5-0:"
           " funct");
    expect("\\begin{bytefield}[boxformatting=\\baselinealign]{32}\\bithe"
           "ader[b]{0,5,6,10,11,15,16,20,21,25,26,31} \\\\\\bitbox{6}{op"
           "} & \\bitbox{5}{rs} & \\bitbox{5}{rt} & \\bitbox{5}{rd} & \\b"
           "itbox{5}{sh} & \\bitbox{6}{funct} \\\\\\end{bytefield}",
           "table: 31-26: op	25-21: rs	20-16: rt	15-11: "
           "rd	10-6: sh	5-0:"
           " funct");
    expect("\\bytefieldsetup{endianness=big}\\begin{bytefield}{8}\\bithe"
           "ader[l]{0,7}\\\\\\bitbox{3}{a}\\bitbox{5}{b}\\\\\\bitheader{"
           "0,7}\\\\\\bitbox{3}{a}\\bitbox{5}{b}\\end{bytefield}",
           "table: 0-2: a	3-7: b\n7-5: a	4-0: b");
    expect("\\begin{bytefield}{64}\\bitheader[endianness=big]{0,63} \\\\ "
           "\\begin{rightwordgroup}{128-bit \\\\ in memory}\\bitbox{16}{"
           "perms} & \\bitbox{3}{} & \\bitbox{15}{otype} & \\bitbox{30}{"
           "bounds} \\\\ \\bitbox[lrb]{64}{address}\\end{rightwordgroup}"
           "\\end{bytefield}",
           "table: 128-bit in memory	63-48: perms		44-30: "
           "otype	29-0: bo"
           "unds\n63-0: address");
}

/* As registers are, of more than one line, too: "lsb" is its lowest bit. */
static void test_registers(void **state)
{
    (void)state;
    expect("\\begin{bytefield}[endianness=big]{32}\\bitheader{31, 23, 15"
           ", 11, 0} \\\\ \\bitbox{8}{flood} & \\bitbox{8}{input only} &"
           " \\bitbox{4}{unused} & \\bitbox{12}{id} \\\\\\end{bytefield}",
           "table: 31-24: flood	23-16: input only	15-12: unused	11-0: "
           "id");
    expect("\\begin{bytefield}[endianness={big},bitwidth=2em]{16}\\bithe"
           "ader[lsb=16]{16-31} \\\\ \\bitbox{12}{hi} \\bitbox{4}{mode} "
           "\\\\[3ex] \\bitheader{0-15} \\\\ \\bitbox{15}{lo} \\bitbox{1"
           "}{E}\\end{bytefield}",
           "table: 31-20: hi	19-16: mode\n15-1: lo	0: E");
    expect("\\begin{bytefield}{8}\\bitheader[lsb=8]{8-15}\\\\\\bitbox{3}"
           "{a}\\bitbox{5}{b}\\end{bytefield}",
           "table: 8-10: a	11-15: b");
    expect("\\begin{bytefield}{8}\\bitheader[lsb=1]{1,8}\\\\\\bitbox{8}{"
           "a}\\end{bytefield}",
           "table: 1-8: a");
    expect("\\begin{bytefield}{8}\\bitheader[lsb=1]{0,7}\\\\\\bitbox{8}{"
           "a}\\end{bytefield}",
           "table: 0,7\na");
    expect("\\newcommand{\\bitlabel}[2]{\\bitbox[]{#1}{#2}}"
           "\\newcommand{\\colorbitbox}[3]{\\rlap{\\bitbox{#2}{\\color{#"
           "1}\\rule{\\width}{\\height}}}\\bitbox{#2}{#3}}\\begin{bytefi"
           "eld}[endianness=big]{80}\\bitlabel{1}{Sign} \\\\ \\bitheader"
           "{0,63,79} \\\\ \\begin{rightwordgroup}{R0}\\bitbox{1}{} & \\b"
           "itbox{15}{Exp} & \\colorbitbox{gray}{64}{Frac}\\end{rightwor"
           "dgroup}\\end{bytefield}",
           "table: Sign\nR0		78-64: Exp	63-0: Frac");
    expect("{\\bytefieldsetup{endianness=big}\\begin{bytefield}{8}\\bith"
           "eader{0,7}\\\\\\bitbox{8}{a}\\end{bytefield}}\\begin{bytefie"
           "ld}{8}\\bytefieldsetup{endianness=big}\\bitheader{0-7}\\\\\\b"
           "itbox{1}{S}\\bitbox{7}{n}\\end{bytefield}\\begin{bytefield}{"
           "8}\\bitheader{0-7}\\\\\\bitbox{1}{S}\\end{bytefield}",
           "table: 7-0: a | table: 7: S	6-0: n | table: 0: S");
}

/* As packets are. */
static void test_packets(void **state)
{
    (void)state;
    expect("\\begin{bytefield}{32}\\bitheader{0-31} \\\\ \\bitbox{3}{typ"
           "e} & \\bitbox{29}{setup} \\\\ \\bitboxes{1}{000} & \\bitbox{"
           "1}{\\rotatebox{90}{p2p?}} & \\bitbox{28}{reserved}\\end{byte"
           "field}",
           "table: 0-2: type	3-31: setup\n0: 0	1: 0	2: 0	3: "
           "p2p?	4-31: r"
           "eserved");
    expect("\\begin{bytefield}{32}\\bitheader{0,15-16,31} \\\\ \\begin{r"
           "ightwordgroup}{Header} \\bitbox{16}{Source} & \\bitbox{16}{T"
           "arget} \\\\ \\wordbox{1}[bgcolor=red]{Sequence} \\end{rightw"
           "ordgroup} \\\\ \\begin{rightwordgroup}{Payload}\\wordbox[lrt"
           "]{1}{\\small Data} \\\\ \\skippedwords \\\\ \\wordbox[lrb]{1"
           "}{} \\end{rightwordgroup}\\end{bytefield}",
           "table: Header	0-15: Source	16-31: "
           "Target\nSequence\nPayload	"
           "Data");
}

/* A wrong range is worse than none. */
static void test_widths(void **state)
{
    (void)state;
    expect("\\newcommand{\\w}{16}\\newcommand{\\n}{4}\\begin{bytefield}{"
           "\\w}\\bitheader{0,15}\\\\\\bitbox{\\n}{a}\\bitbox{ 12 }{b}\\e"
           "nd{bytefield}",
           "table: 0-3: a	4-15: b");
    expect("\\begin{bytefield}{16}\\bitheader{0,15}\\\\\\bitbox{2}{a}\\b"
           "itbox{\\nowhere}{b}\\bitbox{4}{c}\\end{bytefield}",
           "table: 0-1: a	b	c");
    expect("\\begin{bytefield}{16}\\bitheader{0,15}\\\\\\bitbox{2}{a}\\b"
           "itbox{4.5}{b}\\bitbox{4}{c}\\end{bytefield}",
           "table: 0-1: a	b	c");
    expect("\\begin{bytefield}{16}\\bitheader{0,15}\\\\\\bitbox{2}{a}\\b"
           "itbox{0}{b}\\bitbox{4}{c}\\end{bytefield}",
           "table: 0-1: a	b	c");
    expect("\\begin{bytefield}{16}\\bitheader{0,15}\\\\\\bitbox{2}{a}\\b"
           "itbox{}{b}\\bitbox{4}{c}\\end{bytefield}",
           "table: 0-1: a	b	c");
    expect("\\begin{bytefield}{16}\\bitheader{0,15}\\\\\\bitbox{2}{a}\\b"
           "itbox{4*2}{b}\\bitbox{4}{c}\\end{bytefield}",
           "table: 0-1: a	b	c");
    expect("\\begin{bytefield}{16}\\bitheader{0,15}\\\\\\bitbox{2}{a}\\b"
           "itbox{-2}{b}\\bitbox{4}{c}\\end{bytefield}",
           "table: 0-1: a	b	c");
    expect("\\begin{bytefield}{8}\\bitheader{0,7}\\\\\\bitboxes{\\nowher"
           "e}{ab}\\bitbox{4}{c}\\end{bytefield}",
           "table: a	b	c");
    expect("\\begin{bytefield}[endianness=big]{16}\\bitheader{0,15}\\\\\\b"
           "itbox{4}{a}\\\\\\bitbox{16}{b}\\bitbox{1}{c}\\\\\\bitbox{16}"
           "{d}\\end{bytefield}",
           "table: 15-12: a\n15-0: b	c\n15-0: d");
    expect("\\begin{bytefield}{8}\\bitbox{3}{a}\\bitbox{5}{b}\\\\\\bithe"
           "ader{0-7}\n\\end{bytefield}",
           "table: a	b\n0-7");
    expect("\\begin{bytefield}{8}\\bitheader{0-7}\\\\\\bitbox{3}{a}\\end"
           "{bytefield}\\begin{tabular}{ll}\\bitbox{3}{a} & b\\end{tabul"
           "ar}",
           "table: 0-2: a | table: a	b");
    expect("\\rlap{a}\\rlap b c", "paragraph: ab c");
    expect(
        "\\begin{bytefield}{8}\\bitheader{0-7}\\\\\\nowhere{3}{a}"
        "\\bitbox{5}{b}\\\\\\hspace{1em}\\bitbox{4}{c}\\\\\\bitbox{2}{\\hspace"
        "{1em}d}\\small\\bitbox{6}{\\nowhere{e}}\\end{bytefield}",
        "table: 3a\tb\nc\n0-1: d\t2-7: e");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytefield), cmocka_unit_test(test_instructions),
        cmocka_unit_test(test_registers), cmocka_unit_test(test_packets),
        cmocka_unit_test(test_widths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
