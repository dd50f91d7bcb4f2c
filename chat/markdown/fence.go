package markdown

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// closedFence gives where a block of fenced code whose fences are there begins and
// ends, and where in its first line the fence stands.
func closedFence(src []byte, code *ast.FencedCodeBlock) (start, pos, end int) {
	start = lineStart(src, code.Pos())
	opening := src[start:lineEnd(src, start)]
	pos = start + max(0, bytes.IndexAny(opening, "`~"))
	end = lineEnd(src, pos)
	if n := code.Lines().Len(); n > 0 {
		end = max(end, min(code.Lines().At(n-1).Stop, len(src))-1)
	}
	closing := lineEnd(src, min(end+1, len(src)))
	if line := strings.Trim(string(src[min(end+1, closing):closing]), blank+">"); line != "" && strings.Trim(line, string(src[pos:pos+1])) == "" {
		end = closing
	}
	return start, pos, end
}

// closeFences closes open fences, as of a model that was stopped in the middle.
// CommonMark lets them end with their container; not every client does.
func closeFences(src string) string {
	if !strings.Contains(src, "```") && !strings.Contains(src, "~~~") {
		return src
	}
	source := []byte(src)
	var fenced []*ast.FencedCodeBlock
	begins := map[int]bool{} // lines in which a block begins
	walk := func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering && n.Type() == ast.TypeBlock {
			begins[lineStart(source, position(n))] = true
		}
		if code, ok := n.(*ast.FencedCodeBlock); ok && entering {
			fenced = append(fenced, code)
		}
		return ast.WalkContinue, nil
	}
	_ = ast.Walk(blockParser.Parse(text.NewReader(source)), walk) // walk returns no error
	var out strings.Builder
	done := 0
	for _, code := range fenced {
		if at, line := missingFence(source, code, begins); line != "" && at >= done {
			out.WriteString(src[done:at] + "\n" + line)
			done = at
		}
	}
	return out.String() + src[done:]
}

// missingFence gives the line that would close the block and where it belongs,
// or "" if there is one.
func missingFence(src []byte, code *ast.FencedCodeBlock, begins map[int]bool) (at int, line string) {
	start := lineStart(src, code.Pos()) // the position itself is too far right after tabs
	opening := string(src[start:lineEnd(src, start)])
	indent := strings.IndexAny(opening, "`~")
	if indent < 0 {
		return 0, ""
	}
	pos, char := start+indent, opening[indent:indent+1]
	fence := opening[indent : len(opening)-len(strings.TrimLeft(opening[indent:], char))]
	end := min(lineEnd(src, pos)+1, len(src))
	if n := code.Lines().Len(); n > 0 {
		end = min(max(end, code.Lines().At(n-1).Stop), len(src))
	}
	next := strings.Trim(string(src[end:lineEnd(src, end)]), " \t>")
	if len(next) >= len(fence) && strings.Trim(next, char) == "" && !begins[end] {
		return 0, ""
	}
	_, rest := prefixes(opening[:indent])
	for end > pos && isSpace(src[end-1]) {
		end--
	}
	return end, rest + fence
}

// Bare gives the text without the words that fences of code bear, such as the
// language, for a client that shows them as if they were code.
func Bare(src string) string {
	if !tame(src) || !strings.Contains(src, "```") && !strings.Contains(src, "~~~") {
		return src
	}
	var out strings.Builder
	done := 0
	_ = ast.Walk(blockParser.Parse(text.NewReader([]byte(src))), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		code, ok := n.(*ast.FencedCodeBlock)
		if !ok || !entering || code.Info == nil {
			return ast.WalkContinue, nil
		}
		word := code.Info.Segment
		if word.Start < done || word.Stop > len(src) || word.Start >= word.Stop {
			return ast.WalkContinue, nil
		}
		out.WriteString(strings.TrimRight(src[done:word.Start], " \t"))
		done = word.Stop
		return ast.WalkContinue, nil
	})
	return out.String() + src[done:]
}
