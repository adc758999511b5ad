#include "tests/unit/support/spans.h"

/* Figures, formulas and exponents in HTML. */

static void test_figures_and_math(void **state)
{
    (void)state;
    expect("<figure><img alt='A cat'><figcaption>Fig. 1</figcaption></figure>"
           "<p><img alt=alone></p><p>text <img alt=icon> on</p>"
           "<p>x <math><mi>E</mi><annotation encoding='application/x-tex'>"
           "E=mc^2</annotation></math> y</p>"
           "<math display=block><mi>z</mi></math>"
           "<div class=math>\\[ a &lt; b \\]</div>",
           "# \nfigure: A cat\\nFig. 1\nfigure: alone\nparagraph: text on\n"
           "figure: icon\n"
           "paragraph: x E=mc^2 y\nmath: z\nmath: \\[ a < b \\]\n");
}

/* DocBook says a figure's title of each image once more. */
static void test_images_that_say_a_title(void **state)
{
    (void)state;
    expect("<div class=figure><p class=title><b>Figure 2. A <i>blue</i> pump"
           "</b></p><div><img alt='A blue pump'><div class=caption>Its head."
           "</div><img alt='A Blue  Pump'></div></div>",
           "# \nfigure: Figure 2. A blue pump\\nIts head.\n");
    expect("<figure><img alt='A red pump'><figcaption>A red pump, "
           "open</figcaption></figure>",
           "# \nfigure: A red pump, open\n");
    /* Not what only a longer word has, nor what stands elsewhere. */
    expect("<figure><img alt='pump'><figcaption>Pumps</figcaption></figure>"
           "<p>A cat<p><img alt='A cat'>",
           "# \nfigure: pump\\nPumps\nparagraph: A cat\nfigure: A cat\n");
}

static void test_formulas_in_figures(void **state)
{
    (void)state;
    expect("<figure><p>Here <img alt='$n$'> is odd.<p><img alt='\\(k\\)'>"
           "<figcaption>n and k</figcaption></figure>",
           "# \nfigure: Here\\n$n$\\nis odd.\\n\\(k\\)\\nn and k\n");
}

/* A page of a megabyte may have thousands of images, each of which looks at the
 * beginning of its figure only. */
static void test_images_in_long_figures(void **state)
{
    (void)state;
    struct buf page = {0}, shown = {0};
    buf_put_text(&page, "<figure><p>");
    buf_put_text(&shown, "# \nfigure: ");
    for (int i = 0; i < 300; i++) {
        buf_put_text(&page, "pumping ");
        buf_put_text(&shown, "pumping ");
    }
    buf_put_text(&page, "a valve<p><img alt='A valve'></figure>");
    buf_put_text(&shown, "a valve\\nA valve\n");
    expect(page.data, shown.data);
    buf_free(&page);
    buf_free(&shown);
}

/* "231" is another number than 2 to the power of 31. */
static void test_exponents(void **state)
{
    (void)state;
    expect("<h1>T<sup>2</sup></h1><p>From -2<sup>31</sup> to "
           "2<sup><i>63</i></sup>-1, 10<sup>&minus;6</sup>&nbsp;m<sup>2</sup>, "
           "x<sup>n</sup>, (a+b)<sup>2</sup>.<pre>2<sup>8</sup></pre>",
           "# T^2\nparagraph: From -2^31 to 2^63-1, 10^\u22126 m^2, x^n, "
           "(a+b)^2.\ncode: 2^8\n");
    expect("<h1>T</h1><p>5<sup>1</sup>/<sub>2</sub> inches, 2<sup>3</sup>/4",
           "# T\nparagraph: 5 1/2 inches, 2^3/4\n");
    expect("<h1>T</h1><p>(<sup>1</sup>/<sub>2</sub>) x<sup>2</sup>/<sub>2</sub>"
           " 2<sup>10</sup>/<sub>2</sub> I<sup>2</sup>C E<sup>2</sup>PROM, "
           "W/m<sup>2</sup>K",
           "# T\nparagraph: (1/2) x^2/2 2^10/2 I2C E2PROM, W/m^2K\n");
    expect("<h1>T</h1><p>word<sup>1</sup>, 1<sup>st</sup>, "
           "L<sup>A</sup>T<sub>E</sub>X, "
           "2<sup><a href=#f>3</a></sup>, <a href=x>5<sup>2</sup></a>, "
           "2 <sup>4</sup>, x<sup>12345</sup>, "
           "x<sup>a b</sup>, m<sup> </sup>, 2<sup></sup>",
           "# T\nparagraph: word1, 1st, LATEX, 23, 52, 2 4, x12345, xa b, "
           "m , 2\n");
}

/* Formulas without TeX: LyX writes their white space out. */
static void test_mathml(void **state)
{
    (void)state;
    expect(
        "<h1>T</h1><p>a <math><mrow><msup>\n <mrow><mn>2</mn>\n </mrow>\n "
        "<mrow><mn>31</mn></mrow></msup><mo>-</mo><mn>1</mn></mrow></math> b "
        "<math><mfrac><mrow><mo> &Omega; </mo>\n</mrow><mrow><mi> □ </mi>"
        "</mrow></mfrac></math>, <math><msqrt><mn>2</mn></msqrt></math>.",
        "# T\nparagraph: a 2^31-1 b Ω/□ , √2.\n");
    expect(
        "<h1>T</h1><p><math><mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow>"
        "<mrow><mi>u</mi><mi>n</mi></mrow></mfrac></math> <math><msup><mi>e"
        "</mi><mrow><mo>-</mo><mi>x</mi></mrow></msup></math> <math><msubsup>"
        "<mi>x</mi><mn>1</mn><mn>2</mn></msubsup></math> <math><munderover>"
        "<mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi>"
        "</munderover><msqrt><mi>a</mi><mo>+</mo><mi>b</mi></msqrt><mroot>"
        "<mi>y</mi><mn>3</mn></mroot></math>",
        "# T\nparagraph: (a+b)/un e^(-x) x_1^2 ∑_(i=1)^n√(a+b)y3\n");
    expect("<h1>T</h1><p>Kilo <math><mrow><mn>1</mn>\n <msup><mn>0</mn><mn>3"
           "</mn></msup></mrow></math> <math><mn>2</mn> <mtable><mtr><mtd><mn>1"
           "</mn></mtd> <mtd><mn>0</mn></mtd></mtr></mtable></math>",
           "# T\nparagraph: Kilo 10^3 2 1 0\n");
    expect("<h1>T</h1><p>x<math><msup><mi></mi><mn>2</mn></msup><msqrt></msqrt>"
           "<mfrac><mn>1</mn><mrow></mrow></mfrac><msub><mi>y</mi></msub>"
           "</math>",
           "# T\nparagraph: x^2 1y\n");
    /* A sign has text behind it, and all text is read. */
    expect("<h1>T</h1><p>a<p><math><msqrt><annotation>3</annotation></msqrt>"
           "<mfrac><annotation>1</annotation><mrow></mrow></mfrac></math><p>"
           "<math><msqrt><mphantom>0</mphantom></msqrt></math><p><math><msup>x"
           "<mn>2</mn></msup><mfrac>1 2</mfrac></math>",
           "# T\nparagraph: a\nparagraph: √0\nparagraph: x21 2\n");
    /* Numbers stay what they are. */
    expect(
        "<h1>T</h1><p><math><mn>5</mn><mfrac><mn>1</mn><mn>2</mn></mfrac>"
        "</math>, <math><msup><mn>2</mn><mn>3</mn></msup><mn>4</mn></math>, "
        "<math><mn>3</mn> <mn>4</mn></math>, 10<math><msup><mrow></mrow><mrow>"
        "<mo>-</mo><mn>6</mn></mrow></msup></math>, <math><msup><mi>f</mi><mo>"
        "′</mo></msup></math>, <math><msup><mfrac><mi>a</mi><mi>b</mi></mfrac>"
        "<mn>2</mn></msup></math>, <math><mfrac><mn>1</mn><mrow><mn>2</mn><mi>K"
        "</mi></mrow></mfrac></math>",
        "# T\nparagraph: 5 1/2, 2^3 4, 3 4, 10^(-6), f′, (a/b)^2, 1/(2K)\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_figures_and_math),    TEST(test_images_that_say_a_title),
        TEST(test_formulas_in_figures), TEST(test_images_in_long_figures),
        TEST(test_exponents),           TEST(test_mathml),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
