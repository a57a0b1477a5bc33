"""Markdown as models write it, on every platform and the page, whole and while it grows."""

from __future__ import annotations

import re
from html import unescape

import pytest
from markdown_it import MarkdownIt

from bot.platforms.discord.renderer import render_discord
from bot.platforms.feishu.renderer import card_markdown
from bot.platforms.slack.mrkdwn_writer import render_mrkdwn
from bot.platforms.telegram.entity_renderer import render_entities
from bot.platforms.telegram.rich_renderer import rich_markdown
from bot.render.html import render_html
from bot.render.partial_markdown import close_open
from bot.render.split import LEAST_LIMIT, split_markdown
from tests.unit.bot.render.visible import visible, visible_parts

EMPHASIS = [
    ("**状态：**正常", "<b>状态：</b>正常"),
    ("这是**重点**内容", "这是<b>重点</b>内容"),
    ("他说**“你好”**。", "他说<b>“你好”</b>。"),
    ("**“甲”**乙和**（丙）**丁", "<b>“甲”</b>乙和<b>（丙）</b>丁"),
    ("**注意：**请**不要**关机！", "<b>注意：</b>请<b>不要</b>关机！"),
    ("*这是**重点**内容*", "<i>这是<b>重点</b>内容</i>"),
    ("~~（旧）~~的", "<s>（旧）</s>的"),
    ("价格~~100元~~**80元！**限时", "价格<s>100元</s><b>80元！</b>限时"),
    ("**第一步：**打开**设置**，再点**“保存”**按钮", "<b>第一步：</b>打开<b>设置</b>，再点<b>“保存”</b>按钮"),
    ("**使用`git`**提交", "<b>使用<c>git</c></b>提交"),
    ("执行**`make`**后", "执行<b><c>make</c></b>后"),
    ("**50%**的人", "<b>50%</b>的人"),
    ("约**3.5%**左右", "约<b>3.5%</b>左右"),
    ("**《红楼梦》**是名著", "<b>《红楼梦》</b>是名著"),
    ("**【重要】**明天停电", "<b>【重要】</b>明天停电"),
    ("见**[文档](http://a.b/c)**说明", "见<b><a>文档</a></b>说明"),
    ("[**文档：**甲](http://a.b/c)乙", "<a><b>文档：</b>甲</a>乙"),
    ("**see [docs](http://a.b/c).** Then", "<b>see <a>docs</a>.</b> Then"),
    ("***重要：***请看", "<i><b>重要：</b></i>请看"),
    ("**版本v2.0（稳定）**已发布", "<b>版本v2.0（稳定）</b>已发布"),
    ("**a)**甲**b)**乙", "<b>a)</b>甲<b>b)</b>乙"),
    ("- **名称：**甲\n- **地址：**乙", "<b>名称：</b>甲 <b>地址：</b>乙"),
    (
        "| **项：**甲 | ~~（旧）~~乙 |\n|--|--|\n| **丙。**丁 | 戊 |",
        "<b>项：</b>甲 <s>（旧）</s>乙 <b>丙。</b>丁 戊",
    ),
    ("> **引用：**内容", "<b>引用：</b>内容"),
    ("## **标题：**一", "<b>标题：</b>一"),
    ("これは**（注記）**です", "これは<b>（注記）</b>です"),
    ("**重要：**必ず読んで", "<b>重要：</b>必ず読んで"),
    ("この**「設定」**を開く", "この<b>「設定」</b>を開く"),
    ("**ｶﾅ｡**です", "<b>ｶﾅ｡</b>です"),
    ("**ファイル名.txt**を", "<b>ファイル名.txt</b>を"),
    ("*「斜体」*です", "<i>「斜体」</i>です"),
    ("~~「古い」~~と**「新しい」**を", "<s>「古い」</s>と<b>「新しい」</b>を"),
    ("**이 용어(This term)**를 강조", "<b>이 용어(This term)</b>를 강조"),
    ('**"인용"**이라고', '<b>"인용"</b>이라고'),
    ("한국어**(괄호)**입니다", "한국어<b>(괄호)</b>입니다"),
    ("**주의!**하세요", "<b>주의!</b>하세요"),
    ("**邊󠄀**的（異體字）**甲。**乙", "<b>邊󠄀</b>的（異體字）<b>甲。</b>乙"),
    ("共**３**個、**（Ａ）**類", "共<b>３</b>個、<b>（Ａ）</b>類"),
    ("**✅ 完成：**三项", "<b>✅ 完成：</b>三项"),
    ("**完成 ✅**后续", "<b>完成 ✅</b>后续"),
    ("**Done:** 完成", "<b>Done:</b> 完成"),
    ("使用**Python 3.11+**版本", "使用<b>Python 3.11+</b>版本"),
    ("**API（接口）**and**SDK（工具）**end", "<b>API（接口）</b>and<b>SDK（工具）</b>end"),
    ("**مهم:** اقرأ هذا", "<b>مهم:</b> اقرأ هذا"),
    ("هذا **نص (مهم)** جدا", "هذا <b>نص (مهم)</b> جدا"),
    ("*مائل* و ~~قديم~~", "<i>مائل</i> و <s>قديم</s>"),
    ("**شكرا، صديقي!** مع السلامة", "<b>شكرا، صديقي!</b> مع السلامة"),
    ("- **الاسم:** عمر", "<b>الاسم:</b> عمر"),
    ("**שלום!** עולם", "<b>שלום!</b> עולם"),
    ("זה **חשוב (מאוד)** כאן", "זה <b>חשוב (מאוד)</b> כאן"),
    ("**שם:** `x` ו־*נטוי*", "<b>שם:</b> <c>x</c> ו־<i>נטוי</i>"),
    ("متن **فارسی** با نیم‌فاصله", "متن <b>فارسی</b> با نیم‌فاصله"),
    ("**Привет!** Мир", "<b>Привет!</b> Мир"),
    ("snake_case_name und 变量_名_称", "snake_case_name und 变量_名_称"),
    ("2 * 3 * 4 = 24", "2 * 3 * 4 = 24"),
    ("**a**b*c*d", "<b>a</b>b<i>c</i>d"),
    ("**รุ่น (ใหม่)** ดี", "<b>รุ่น (ใหม่)</b> ดี"),
    ("**中文**English**日本語**한국어", "<b>中文</b>English<b>日本語</b>한국어"),
    ("第*一*、第*（二）*、第***三！***名", "第<i>一</i>、第<i>（二）</i>、第<i><b>三！</b></i>名"),
    ("说明：**不支持**`a*b*c`写法", "说明：<b>不支持</b><c>a*b*c</c>写法"),
    ("**🎉恭喜！**你赢了", "<b>🎉恭喜！</b>你赢了"),
    ("他**\\*\\***写", "他<b>**</b>写"),
]
FORMULAS = [
    ("$a\\,b$", "<m>$a\\,b$</m>"),
    ("\\(x\\)", "<m>\\(x\\)</m>"),
    ("\\[x^2\\]", "<m>\\[x^2\\]</m>"),
    ("$x$ and $y$", "<m>$x$</m> and <m>$y$</m>"),
    ("$x_1 * y_2 * z_3$", "<m>$x_1 * y_2 * z_3$</m>"),
    ("$E = mc^2$是", "<m>$E = mc^2$</m>是"),
    ("the answer is $5$.", "the answer is <m>$5$</m>."),
    ("$2 + 3 = 5$", "<m>$2 + 3 = 5$</m>"),
    ("$\\text{two words}$", "<m>$\\text{two words}$</m>"),
    ("$$\\int_0^1 x_a dx_b$$", "<m>$$\\int_0^1 x_a dx_b$$</m>"),
    ("\\(\\alpha_1\\) *and* \\(\\beta_1\\)", "<m>\\(\\alpha_1\\)</m> <i>and</i> <m>\\(\\beta_1\\)</m>"),
    ("**$a_1$** and *$b_1$*", "<b><m>$a_1$</m></b> and <i><m>$b_1$</m></i>"),
    ("$$\n\\begin{pmatrix} a & b \\\\ c & d \\end{pmatrix}\n$$", None),
    ("\\begin{align} a &= b_1 \\\\ c &= d_1 \\end{align}", None),
    ("- $a_1$\n- \\(b_1\\)", "<m>$a_1$</m> <m>\\(b_1\\)</m>"),
    ("| $a_1 b_1$ |\n|--|\n| \\(x\\,y\\) |", "<m>$a_1 b_1$</m> <m>\\(x\\,y\\)</m>"),
    ("costs $5 and $10", "costs $5 and $10"),
    ("$5-$10", "$5-$10"),
    ("US$5 or *US$6*", "US$5 or <i>US$6</i>"),
    ("between $1,000 and $2,000 (or **$3k**)", "between $1,000 and $2,000 (or <b>$3k</b>)"),
    ("$3.50/mo or $40/yr", "$3.50/mo or $40/yr"),
    ("价格$5到$6之间", "价格$5到$6之间"),
    ("from $5 to $7, or 6$ in cash", "from $5 to $7, or 6$ in cash"),
    ("use $HOME/bin:$PATH", "use $HOME/bin:$PATH"),
    ("`$a_1$` and `\\(b\\)`", "<c>$a_1$</c> and <c>\\(b\\)</c>"),
    ("\\$5 and \\$6", "$5 and $6"),
    ("\\[1\\] and \\(see below\\)", "[1] and (see below)"),
    ("$100M–$200M", "$100M–$200M"),
    ("a $ b $ c", "a $ b $ c"),
    ("A$5, **B$6**", "A$5, <b>B$6</b>"),
]
ADDRESSES = [
    ("https://example.com/api/_v1_/x", "<a>https://example.com/api/_v1_/x</a>"),
    ("https://example.com/?q=*a*", "<a>https://example.com/?q=*a*</a>"),
    (
        "see https://e.com/_a_, or https://e.com/_b_.",
        "see <a>https://e.com/_a_</a>, or <a>https://e.com/_b_</a>.",
    ),
    ("(https://e.com/a_(b)_c)", "(<a>https://e.com/a_(b)_c</a>)"),
    ("**https://e.com/a_b_c**", "<b><a>https://e.com/a_b_c</a></b>"),
    ("*https://e.com/a_b_c*", "<i><a>https://e.com/a_b_c</a></i>"),
    ("**地址：https://e.com/_a_**后", "<b>地址：<a>https://e.com/_a_</a></b>后"),
    ("见https://e.com/_a_，谢谢", "见<a>https://e.com/_a_</a>，谢谢"),
    ("打开https://e.com/docs查看", "打开<a>https://e.com/docs</a>查看"),
    ("https://zh.wikipedia.org/wiki/维基_百科。", "<a>https://zh.wikipedia.org/wiki/维基_百科</a>。"),
    ("~~https://e.com/_a_~~", "<s><a>https://e.com/_a_</a></s>"),
    ("https://e.com/**/x/**/y", "<a>https://e.com/**/x/**/y</a>"),
    ("https://e.com/__init__.py", "<a>https://e.com/__init__.py</a>"),
    ("www.example.com/_a_", "<a>www.example.com/_a_</a>"),
    ("[https://e.com/_a_](https://e.com/_a_)", "<a>https://e.com/_a_</a>"),
    ("[docs](https://e.com/_a_)", "<a>docs</a>"),
    ("<https://e.com/_a_>", "<a>https://e.com/_a_</a>"),
    ("`https://e.com/_a_`", "<c>https://e.com/_a_</c>"),
    ("- https://e.com/_a_\n- x", "<a>https://e.com/_a_</a> x"),
    ("| https://e.com/_a_ | *b* |\n|--|--|\n| c | d |", "<a>https://e.com/_a_</a> <i>b</i> c d"),
    ("_first_last_@example.com_", "_first_last_@example.com_"),
    ("mail a_b_@c.de or _x_@y.zz", "mail a_b_@c.de or _x_@y.zz"),
    ("/usr/_x_/y and ~/_a_/b", "/usr/_x_/y and ~/_a_/b"),
    ("C:\\_new_\\*.txt", "C:\\_new_\\*.txt"),
    ("src/**/*.ts and lib/**/*.js", "src/**/*.ts and lib/**/*.js"),
    ("__init__.py and __main__.py", "__init__.py and __main__.py"),
    ("**/etc/_x_**的", "<b>/etc/_x_</b>的"),
    ("**A**/**B** and/or *c*", "<b>A</b>/<b>B</b> and/or <i>c</i>"),
    ("ssh://git@e.com:22/_a_/b", "ssh://git@e.com:22/_a_/b"),
    ("http://localhost:8080/_a_?x=1&y_z_=2", "<a>http://localhost:8080/_a_?x=1&amp;y_z_=2</a>"),
]
TAGS = [
    ("one<br>two<BR/>three", "one two three"),
    ("| a |\n|--|\n| one<br>two |", "a one two"),
    ("<kbd>Ctrl</kbd>+<kbd>C</kbd>", "Ctrl+C"),
    ("<b>bold</b>, <em>it</em>, <del>old</del>", "<b>bold</b>, <i>it</i>, <s>old</s>"),
    ("<strong>状态：</strong>正常", "<b>状态：</b>正常"),
    ('<a href="https://e.com/_a_">docs</a>', "<a>docs</a>"),
    ("<code>a*b*</code> and <mark>*c*</mark>", "<c>a*b*</c> and <i>c</i>"),
    ("![](https://e.com/_a_.png)", "<a>https://e.com/_a_.png</a>"),
    ("1 < 2 <b>and</b> 3 > 2", "1 < 2 <b>and</b> 3 > 2"),
    ("- <u>one</u>\n- <span style='color:red'>two</span>", "one two"),
]
SAMPLES = [*EMPHASIS, *FORMULAS, *ADDRESSES, *TAGS]
each_sample = pytest.mark.parametrize(("markdown", "marked"), SAMPLES, ids=[repr(one) for one, _ in SAMPLES])
SHORT = {"strong": "b", "em": "i", "del": "s", "code": "c", "a": "a"}


def shorten_tags(html: str) -> str:
    """Return HTML with the tags of the samples, and a space between blocks."""
    html = re.sub(r'<code class="language-math">(.*?)</code>', r"<m>\1</m>", html, flags=re.DOTALL)
    html = re.sub(r"<(/?)(\w+)[^>]*>", lambda tag: _shorten(tag[1], tag[2]), html)
    return " ".join(html.split())


def _shorten(slash: str, name: str) -> str:
    return f"<{slash}{SHORT.get(name, name)}>" if name in SHORT or name == "m" else " "


def squeeze(text: str) -> str:
    return "".join(text.replace("\u2060", "").split())


def words(marked: str) -> str:
    return squeeze(unescape(re.sub(r"</?[abcims]>", "", marked)))


@pytest.mark.parametrize(("markdown", "marked"), SAMPLES, ids=repr)
def test_the_page_shows_it(markdown: str, marked: str | None) -> None:
    expected = f"<m>{markdown}</m>" if marked is None else marked
    assert unescape(shorten_tags(render_html(markdown))) == " ".join(unescape(expected).split())


@each_sample
def test_platforms_show_the_same_words(markdown: str, marked: str | None) -> None:
    shown = visible(markdown)
    assert marked is None or shown == words(marked)
    read = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(rich_markdown(markdown))
    inlines = [child.content for token in read for child in token.children or ()]
    assert squeeze("".join(inlines)) == shown
    if "|" not in markdown:
        plain = squeeze(render_entities(markdown).text)
        assert plain.removeprefix("•").replace("•", "") == shown
    assert "**" in shown or "**" not in render_mrkdwn(markdown)


@each_sample
def test_it_grows_without_taking_anything_back(markdown: str, marked: str | None) -> None:
    whole = visible(markdown)
    for end in range(len(markdown) + 1):
        assert whole.startswith(visible(close_open(markdown[:end]))), markdown[:end]


@each_sample
def test_it_is_split_without_losing_anything(markdown: str, marked: str | None) -> None:
    text = "word " * 10 + "\n" + markdown
    parts = split_markdown(text, limit=max(LEAST_LIMIT, len(markdown) + 20), measure=len)
    assert visible_parts(parts) == visible(text)


def test_a_reference_becomes_a_link() -> None:
    markdown = "the [plan][1] now\n\n[1]: https://e.com/a"
    assert '<a href="https://e.com/a"' in render_html(markdown)
    assert render_discord(markdown) == card_markdown(markdown) == "the [plan](https://e.com/a) now"
    assert rich_markdown(markdown).strip() == "the [plan](<https://e.com/a>) now"
    assert render_mrkdwn(markdown) == "the <https://e.com/a|plan> now"
    assert render_entities(markdown).text == "the plan now"
