package markdown

import (
	"html"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// colours draws fenced code with a class for each kind of word, where its language is
// known. The page's style gives the colours.
type colours struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (colours) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindFencedCodeBlock, drawCode)
}

// mostColoured is how much code gets colours, in bytes: the patterns of a language may take
// long for a text that was written against them.
const mostColoured = 8 << 10

func drawCode(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	block, ok := n.(*ast.FencedCodeBlock)
	if !ok || !entering {
		return ast.WalkContinue, nil
	}
	language, code := string(block.Language(source)), string(block.Lines().Value(source))
	open := "<pre><code>"
	if language != "" {
		open = `<pre><code class="language-` + html.EscapeString(language) + `">`
	}
	_, _ = w.WriteString(open)
	for _, t := range wordsOf(language, code) {
		text := html.EscapeString(t.Value)
		if class := classOf(t.Type); class != "" {
			text = `<span class="` + class + `">` + text + "</span>"
		}
		_, _ = w.WriteString(text)
	}
	_, _ = w.WriteString("</code></pre>\n")
	return ast.WalkContinue, nil
}

// wordsOf parts code into words; into one of no kind where its language is not known.
func wordsOf(language, code string) []chroma.Token {
	plain := []chroma.Token{{Value: code}}
	lexer := lexers.Get(language)
	if lexer == nil || language == "" || len(code) > mostColoured {
		return plain
	}
	words, err := chroma.Coalesce(lexer).Tokenise(&chroma.TokeniseOptions{State: "root"}, code)
	if err != nil {
		return plain
	}
	return words.Tokens()
}

func classOf(t chroma.TokenType) string {
	switch {
	case t.InCategory(chroma.Keyword):
		return "keyword"
	case t.InCategory(chroma.Comment):
		return "comment"
	case t.InSubCategory(chroma.LiteralString):
		return "string"
	case t.InSubCategory(chroma.LiteralNumber):
		return "number"
	case t == chroma.NameFunction:
		return "function"
	}
	return ""
}
