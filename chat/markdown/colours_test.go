package markdown

import (
	"strings"
	"testing"
)

// Code in a language that is known has a class for each kind of word, and no character
// more or less. Other code, and code that is long, is drawn as it is.
func TestColours(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"```go\nfunc f() { return 1 } // <b>\n```": `<pre><code class="language-go"><span class="keyword">func</span> <span class="function">f</span>() { <span class="keyword">return</span> <span class="number">1</span> } <span class="comment">// &lt;b&gt;` + "\n</span></code></pre>\n",
		"```\nfunc <f>\n```":                       "<pre><code>func &lt;f&gt;\n</code></pre>\n",
		"```\"x\nfunc\n```":                        "<pre><code class=\"language-&#34;x\">func\n</code></pre>\n",
	} {
		if got := HTML(src); got != want {
			t.Errorf("%q\n is  %q\nwant %q", src, got, want)
		}
	}
	if long := HTML("```go\n" + strings.Repeat("func f()\n", mostColoured/9+1) + "```"); strings.Contains(long, "<span") {
		t.Error("long code has colours")
	}
}
