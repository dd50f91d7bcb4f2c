package markdown

import (
	"strings"
	"testing"

	"golang.org/x/net/html"
)

func TestHTML(t *testing.T) {
	for src, want := range map[string]string{
		"*a* **b** `c<d>`":                "<p><em>a</em> <strong>b</strong> <code>c&lt;d&gt;</code></p>\n",
		"one\ntwo":                        "<p>one<br>\ntwo</p>\n",
		"<b>x</b>":                        "<p>&lt;b&gt;x&lt;/b&gt;</p>\n",
		"<script>x</script>":              "<p>&lt;script&gt;x&lt;/script&gt;</p>\n",
		"[a](https://b.c)":                `<p><a href="https://b.c" target="_blank" rel="noopener noreferrer nofollow">a</a></p>` + "\n",
		"[a](javascript:b)":               "<p>a</p>\n",
		"[a](/say)":                       "<p>a</p>\n",
		"[a](//b.c)":                      "<p>a</p>\n",
		"(see https://b.c/d_e?f=g).":      `<p>(see <a href="https://b.c/d_e?f=g" target="_blank" rel="noopener noreferrer nofollow">https://b.c/d_e?f=g</a>).</p>` + "\n",
		"www.b.c `https://b.c`":           `<p><a href="http://www.b.c" target="_blank" rel="noopener noreferrer nofollow">www.b.c</a> <code>https://b.c</code></p>` + "\n",
		"ada@b.c pkg@1.2 x@1.2.0-a":       `<p><a href="mailto:ada@b.c" target="_blank" rel="noopener noreferrer nofollow">ada@b.c</a> pkg@1.2 x@1.2.0-a</p>` + "\n",
		"ftp://b.c javascript://b.c":      "<p>ftp://b.c javascript://b.c</p>\n",
		"<data:text/html,x>":              "<p>data:text/html,x</p>\n",
		"![a](https://b.c/d.png)":         `<p><a href="https://b.c/d.png" target="_blank" rel="noopener noreferrer nofollow">a</a></p>` + "\n",
		"![](data:image/png;base64,x)":    "<p></p>\n",
		"~~a~~":                           "<p><del>a</del></p>\n",
		"- [x] a":                         "<ul>\n<li><input checked=\"\" disabled=\"\" type=\"checkbox\"> a</li>\n</ul>\n",
		"a | b\n--|-:\n1 | 2":             "<table>\n<thead>\n<tr>\n<th>a</th>\n<th align=\"right\">b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>1</td>\n<td align=\"right\">2</td>\n</tr>\n</tbody>\n</table>\n",
		strings.Repeat("> ", 100) + "<i>": `<p class="plain">` + strings.Repeat("&gt; ", 100) + "&lt;i&gt;</p>",
	} {
		if got := HTML(src); got != want {
			t.Errorf("%q:\n%q, want\n%q", src, got, want)
		}
	}
}

// For any text of a model, the browser's document holds only text and layout, and links
// only to the web.
func FuzzHTML(f *testing.F) {
	for _, s := range []string{"<img src=x onerror=y>", "[a](JaVaScRiPt:x)", "![![a](b)](c)", "[![a](http://b)](http://c)", "<http://a\"b>", "[a]: javascript:x\n[a]", "```x\" onload=\"y\nz\n```", "# a {onclick=b}", "(ftp://a.b/_www.c.d\"e"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		nodes, err := html.ParseFragment(strings.NewReader(HTML(src)), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range nodes {
			for d := range n.Descendants() {
				check(t, d)
			}
		}
	})
}

// plainTags are the elements that text may be laid out with, and attributes
// what they may have.
var (
	plainTags  = " html head body p h1 h2 h3 h4 h5 h6 em strong del code pre blockquote ul ol li hr br table thead tbody tr th td a input "
	attributes = " href title target rel class align start checked disabled type "
)

func check(t *testing.T, n *html.Node) {
	t.Helper()
	if n.Type != html.ElementNode {
		return
	}
	if !strings.Contains(plainTags, " "+n.Data+" ") {
		t.Errorf("an element %s", n.Data)
	}
	for _, a := range n.Attr {
		if !strings.Contains(attributes, " "+a.Key+" ") {
			t.Errorf("an attribute %s of %s", a.Key, n.Data)
		}
		if a.Key == "href" && !harmless([]byte(a.Val)) && !strings.Contains(a.Val, "@") {
			t.Errorf("a link to %q", a.Val)
		}
	}
}
