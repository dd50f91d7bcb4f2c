package markdown

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// words gives n numbered words, so that a lost or repeated one shows.
func words(n int) string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("w%d", i)
	}
	return strings.Join(out, " ")
}

func lines(n int, format string) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, format+"\n", i)
	}
	return out.String()
}

func TestSplit(t *testing.T) {
	// The limit is 100 bytes. Parts are separated by lines of %.
	tests := []struct{ name, src, want string }{
		{"empty", " \n\n ", ""},
		{"fits", "\n# Title\n\nText  \n\n", "# Title\n\nText"},
		{"keeps what it doesn't know", "==mark== ||spoiler|| <b>x</b> @[a]{b} :smile:", "==mark== ||spoiler|| <b>x</b> @[a]{b} :smile:"},
		{
			"between paragraphs",
			words(12) + "\n\n" + words(11) + "\n\n" + words(18) + "\nx",
			words(12) + "\n\n" + words(11) + "\n%\n" + words(18) + "\nx",
		},
		{
			"heading goes with what follows",
			words(18) + "\n\n# A\n\n## B\n\n" + words(12) + "\n\nend",
			words(18) + "\n%\n# A\n\n## B\n\n" + words(12) + "\n\nend",
		},
		{
			"heading goes with what follows and is cut",
			words(14) + "\n\n# A\n\nOne two three four five six seven eight nine ten. Eleven twelve thirteen. Fourteen fifteen sixteen seventeen eighteen",
			words(14) + "\n%\n# A\n\nOne two three four five six seven eight nine ten. Eleven twelve thirteen.\n%\nFourteen fifteen sixteen seventeen eighteen",
		},
		{
			"lines before sentences before words",
			"One two three four five six seven eight nine ten eleven.\nTwelve thirteen. Fourteen fifteen. Sixteen seventeen",
			"One two three four five six seven eight nine ten eleven.\n%\nTwelve thirteen. Fourteen fifteen. Sixteen seventeen",
		},
		{
			"not within a link",
			"aaaaaaaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb [the page of the thing](https://example.com/path/to/the/thing) cc",
			"aaaaaaaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\n%\n[the page of the thing](https://example.com/path/to/the/thing) cc",
		},
		{
			"not within code",
			"aaaaaaaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb cccccc dddddd `x = y. z  = 1; a = b; c = d; e = f` cc",
			"aaaaaaaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb cccccc dddddd\n%\n`x = y. z  = 1; a = b; c = d; e = f` cc",
		},
		{
			"not before what would be a list",
			"aaaaaaaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb cccccccccccccccccccc dddddddddddd - e f g h i j",
			"aaaaaaaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb cccccccccccccccccccc\n%\ndddddddddddd - e f g h i j",
		},
		{
			"escaped where there is no other place",
			strings.Repeat("a", 99) + "```" + strings.Repeat("b", 20),
			strings.Repeat("a", 99) + "`\n%\n``" + strings.Repeat("b", 20),
		},
		{
			"escaped fence",
			strings.Repeat("a", 100) + "```" + strings.Repeat("b", 20),
			strings.Repeat("a", 100) + "\n%\n\\```" + strings.Repeat("b", 20),
		},
		{
			"code between lines",
			"```go title\n" + lines(12, "line %d()") + "```",
			"```go title\n" + lines(9, "line %d()") + "```\n%\n```go title\nline 9()\nline 10()\nline 11()\n```",
		},
		{
			"code begins beside the text",
			"Text.\n\n~~~\n" + lines(12, "line %d()") + "~~~\nMore text.",
			"Text.\n\n~~~\n" + lines(9, "line %d()") + "~~~\n%\n~~~\nline 9()\nline 10()\nline 11()\n~~~\n\nMore text.",
		},
		{
			"an empty line of code stays",
			"```\n" + lines(5, "line %d()") + "\n\n" + lines(6, "line %d()") + "```",
			"```\n" + lines(5, "line %d()") + "\n\n" + lines(5, "line %d()") + "```\n%\n```\nline 5()\n```",
		},
		{
			"little room is not used for what is cut",
			words(24) + "\n\n" + words(40),
			words(24) + "\n%\nw0 w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12 w13 w14 w15 w16 w17 w18 w19 w20 w21 w22 w23 w24 w25 w26\n%\nw27 w28 w29 w30 w31 w32 w33 w34 w35 w36 w37 w38 w39",
		},
		{
			"little room is not used within a quote",
			words(20) + " 123" + "\n\n> " + words(35),
			words(20) + " 123" + "\n%\n> w0 w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12 w13 w14 w15 w16 w17 w18 w19 w20 w21 w22 w23 w24 w25 w26\n%\n> w27 w28 w29 w30 w31 w32 w33 w34",
		},
		{
			"many empty lines are one",
			"a\n\n\n\n\n\nb\n" + words(25) + "\n\nc d e",
			"a\n\nb\n" + words(25) + "\n%\nc d e",
		},
		{
			"links later on",
			words(60) + " [the page of the thing that we have to speak about](https://example.com/a) cc",
			"w0 w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12 w13 w14 w15 w16 w17 w18 w19 w20 w21 w22 w23 w24 w25 w26\n%\nw27 w28 w29 w30 w31 w32 w33 w34 w35 w36 w37 w38 w39 w40 w41 w42 w43 w44 w45 w46 w47 w48 w49 w50 w51\n%\nw52 w53 w54 w55 w56 w57 w58 w59\n%\n[the page of the thing that we have to speak about](https://example.com/a) cc",
		},
		{
			"a longer fence stays",
			"````\n```\n" + lines(10, "line %d()") + "```\n````",
			"````\n```\n" + lines(9, "line %d()") + "````\n%\n````\nline 9()\n```\n````",
		},
		{
			"an open fence is closed",
			"Text\n\n- item\n\n  ```go\n  x()\n",
			"Text\n\n- item\n\n  ```go\n  x()\n  ```",
		},
		{
			"an open fence is closed where its quote ends",
			"> ```go\n> x()\n\nText",
			"> ```go\n> x()\n> ```\n\nText",
		},
		{
			"a long line of code",
			"```\n" + strings.Repeat("0123456789", 12) + "\nend\n```",
			"```\n" + strings.Repeat("0123456789", 8) + "01234567\n```\n%\n```\n89" + strings.Repeat("0123456789", 3) + "\nend\n```",
		},
		{
			"indented code gets a fence",
			"Text:\n\n    a\n" + lines(12, "      line %d()") + "\nText",
			"Text:\n\n```\na\n" + lines(7, "  line %d()") + "```\n%\n```\n  line 7()\n  line 8()\n  line 9()\n  line 10()\n  line 11()\n```\n\nText",
		},
		{
			"a table repeats its header",
			"| n | name |\n|--:|------|\n" + lines(8, "| %d | somebody |"),
			"| n | name |\n|--:|------|\n" + strings.TrimSpace(lines(4, "| %d | somebody |")) + "\n%\n| n | name |\n|--:|------|\n| 4 | somebody |\n| 5 | somebody |\n| 6 | somebody |\n| 7 | somebody |",
		},
		{
			"a row too long for a table",
			"| n | name |\n|--:|------|\n| 1 | a |\n| 2 | " + words(35) + " |\n| 3 | b |",
			"| n | name |\n|--:|------|\n| 1 | a |\n%\n| 2 | w0 w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12 w13 w14 w15 w16 w17 w18 w19 w20 w21 w22 w23 w24 w25\n%\nw26 w27 w28 w29 w30 w31 w32 w33 w34 |\n%\n| n | name |\n|--:|------|\n| 3 | b |",
		},
		{
			"a header too long for a table",
			"| " + words(30) + " | a |\n|---|---|\n| b | c |\n| d | e |",
			"| w0 w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12 w13 w14 w15 w16 w17 w18 w19 w20 w21 w22 w23 w24 w25 w26\n%\nw27 w28 w29 | a |\n|---|---|\n| b | c |\n| d | e |",
		},
		{
			"tabs",
			"-\t" + words(30) + "\n\n\ttext\n\n\t```\n\t\tcode\n\t```",
			"- w0 w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12 w13 w14 w15 w16 w17 w18 w19 w20 w21 w22 w23 w24 w25\n%\nw26 w27 w28 w29\n\ntext\n\n```\n\tcode\n```",
		},
		{
			"an open fence in an item, another after it",
			"1. x\n\n   ```go\n```\ntext\n```",
			"1. x\n\n   ```go\n   ```\n```\ntext\n```",
		},
		{
			"a list between items",
			"- " + words(10) + "\n- " + words(11) + "\n  - sub\n- " + words(10) + "\n- x",
			"- " + words(10) + "\n- " + words(11) + "\n  - sub\n%\n- " + words(10) + "\n- x",
		},
		{
			"a numbered list keeps its numbers",
			"8. " + words(8) + "\n9. " + words(40) + "\n10. x",
			"8. " + words(8) + "\n9. w0 w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12 w13 w14 w15 w16 w17 w18 w19\n%\nw20 w21 w22 w23 w24 w25 w26 w27 w28 w29 w30 w31 w32 w33 w34 w35 w36 w37 w38 w39\n\n10. x",
		},
		{
			"code in an item",
			"1. Do this:\n\n   ```sh\n" + lines(10, "   line %d()") + "   ```\n\n   Then that.\n2. End",
			"1. Do this:\n\n   ```sh\n" + strings.TrimSuffix(lines(5, "   line %d()"), "\n") + "\n   ```\n%\n```sh\nline 5()\nline 6()\nline 7()\nline 8()\nline 9()\n```\n\nThen that.\n\n2. End",
		},
		{
			"a quote",
			"> " + words(15) + "\n> " + words(15) + "\nlazy\n>\n> - item",
			"> " + words(15) + "\n%\n> " + words(15) + "\n> lazy\n>\n> - item",
		},
		{
			"between characters as people see them",
			"a" + strings.Repeat("👩‍👩‍👧‍👦", 5),
			"a" + strings.Repeat("👩‍👩‍👧‍👦", 3) + "\n%\n" + strings.Repeat("👩‍👩‍👧‍👦", 2),
		},
		{
			"Chinese sentences",
			strings.Repeat("中文字符测试", 4) + "。" + strings.Repeat("中文字符测试", 2),
			strings.Repeat("中文字符测试", 4) + "。\n%\n" + strings.Repeat("中文字符测试", 2),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			parts := Split(tt.src, 0, Bytes)
			if diff := cmp.Diff(tt.want, strings.Join(parts, "\n%\n")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if err := sound(tt.src, parts, 100, Bytes); err != nil {
				t.Error(err)
			}
			for _, part := range parts { // as a client sees it that knows no more of it
				if n := strings.Count(part, "```"); n%2 != 0 && !strings.Contains(tt.name, "fence") {
					t.Errorf("%d fences in:\n%s", n, part)
				}
			}
		})
	}
}

func TestSplitCounts(t *testing.T) {
	src := strings.Repeat("🙂é", 200)
	for name, tt := range map[string]struct {
		length func(string) int
		want   int
	}{"bytes": {Bytes, 13}, "runes": {utf8.RuneCountInString, 4}, "UTF-16": {UTF16, 7}} {
		if parts := Split(src, 100, tt.length); len(parts) != tt.want {
			t.Errorf("%s: %d parts, want %d", name, len(parts), tt.want)
		}
	}
}

// sound says what is wrong with the parts that a text was cut into.
func sound(src string, parts []string, limit int, length func(string) int) error {
	for i, part := range parts {
		if n := length(part); n > limit {
			return fmt.Errorf("part %d is %d long, the limit is %d:\n%s", i, n, limit, part)
		}
		if strings.TrimSpace(part) == "" {
			return fmt.Errorf("part %d is empty", i)
		}
		if open := openAtEnd(part); open != "" {
			return fmt.Errorf("part %d ends in an open %s:\n%s", i, open, part)
		}
	}
	if lost := missing(src, strings.Join(parts, "\n")); lost != "" {
		return fmt.Errorf("lost: %q\nof %q\nin %q", lost, src, parts)
	}
	return nil
}

// openAtEnd says what a paragraph would become part of that came after the
// text.
func openAtEnd(part string) string {
	src := []byte(part + "\n\nsentinel\n")
	last := blockParser.Parse(text.NewReader(src)).LastChild()
	switch {
	case last == nil:
		return "definition"
	case last.Kind() == ast.KindHTMLBlock:
		return "" // HTML may stay open: nothing that draws messages knows it
	case last.Kind() != ast.KindParagraph:
		return last.Kind().String()
	}
	return ""
}

// missing gives where the text first holds a letter or number that the other
// doesn't hold in its place. What is repeated is no loss.
func missing(src, out string) string {
	rest := []rune(out)
	for i, r := range src {
		if !unicode.IsLetter(r) && !unicode.IsNumber(r) {
			continue
		}
		at := 0
		for at < len(rest) && rest[at] != r {
			at++
		}
		if at == len(rest) {
			return src[max(0, i-10):]
		}
		rest = rest[at+1:]
	}
	return ""
}

func FuzzSplit(f *testing.F) {
	for _, s := range hostile {
		f.Add(s[:min(len(s), 1000)], 100)
	}
	f.Add("# T\n\n"+words(50)+"\n\n```go\n"+lines(30, "x%d")+"```\n\n| a | b |\n|---|---|\n"+lines(20, "| %d | y |"), 120)
	f.Add("- a\n\n  > b\n  > ```\n  > "+strings.Repeat("x", 150)+"\n", 100)
	f.Add("1. x\n   - "+words(60)+"\n\n         code\n2. y", 130)
	f.Add(strings.Repeat("```", 90)+"\n"+strings.Repeat("~", 300), 100)
	f.Add("a\n    ```\n"+words(90), 100)
	// Found by the property test: a text that is no markup only because of the line
	// before it.
	f.Add("\n\n```\n"+strings.Repeat("\n", 90)+"```\n\n[a]: b\n<b>\n```\n\n", 100)
	f.Add("```\n"+strings.Repeat("\n", 90)+"```\n[a]: b\n<b>\n- \n```\n\n| a |\n", 100)
	f.Add("***`\n<b>\n|---\n`\n```\n\n"+words(30), 100)
	f.Add("1.   `\n`\n[a]: "+strings.Repeat("b", 90)+"`\n    ```", 100)
	f.Add(strings.Repeat("> ", 23)+"````\n<b>\n```\n", 100)
	f.Add("b> a | b |\n|---|---|\n"+strings.Repeat(" ", 106)+"``", 128)
	f.Add("w w w w <!--~~~>     w w w w w ~~~"+strings.Repeat("<!--", 34)+"``", 142)
	f.Fuzz(func(t *testing.T, src string, limit int) {
		limit = Least + max(0, limit)%400
		for _, length := range []func(string) int{Bytes, UTF16} {
			if err := sound(strings.ToValidUTF8(src, "\uFFFD"), Split(src, limit, length), limit, length); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// hostile texts are those that take parsers long.
var hostile = []string{
	strings.Repeat(">", 50_000),
	strings.Repeat("- ", 20_000),
	strings.Repeat("[a](", 20_000),
	strings.Repeat("[", 50_000),
	strings.Repeat("*a **b ", 10_000),
	strings.Repeat("|a", 5_000) + "\n" + strings.Repeat("|-", 5_000) + "\n" + lines(200, "|%d|2|"),
	strings.Repeat("`", 50_000),
	strings.Repeat("-", 50_000),
	"```\n" + strings.Repeat("x", 100_000),
	"```\n" + strings.Repeat("`", 10_000) + "\n" + strings.Repeat("~", 10_000),
	strings.Repeat("e\u0301\u0301\u0301", 10_000),
	"e" + strings.Repeat("\u0301", 10_000),
	strings.Repeat("a\x00\xff", 1_000),
	strings.Repeat("[a]: b\n", 5_000),
	strings.Repeat("<!--", 10_000),
	strings.Repeat("> - ", 30) + strings.Repeat("word ", 1_000),
	lines(3_000, "%d. item"),
	strings.Repeat("a\n\n", 30_000),
	strings.Repeat("# a\n", 10_000),
	strings.Repeat("\t", 5_000) + "a",
	strings.Repeat(" ", 100_000) + "a",
	strings.Repeat("> ```\n", 5_000),
	strings.Repeat("> ", 60) + words(100),
	// Texts that are too hard to parse, with fences that a line does not reveal.
	"- ~~~\n\nx\n\n~~~\nx\n\n" + strings.Repeat("1. ", 31) + words(100),
	"- x\n  ~~~\n\nx\n\n~~~\nx\n\n" + strings.Repeat("1. ", 31) + words(100),
	"<!--\n~~~\n-->\n~~~\nx\n\n" + strings.Repeat("1. ", 31) + words(100),
	"~~~\nx\n    ~~~\nx\n\n" + strings.Repeat("1. ", 31) + words(100),
}

func TestHostile(t *testing.T) {
	for i, src := range hostile {
		for _, limit := range []int{Least, 2000} {
			if err := sound(strings.ToValidUTF8(src, "\uFFFD"), Split(src, limit, UTF16), limit, UTF16); err != nil {
				t.Errorf("%d: %.300s", i, err.Error())
			}
		}
		Plain(src)
		Redraw(src, func(b Block) (string, bool) { return "x", true })
	}
}

func TestBlocks(t *testing.T) {
	src := "\nText\n| a |\n|--:|\n| 1 \\| 2 |\n# H #\nSet\n---\n\n- x\n\n  y\n\n\n> q\n***\n```go x\ncode\n```\n    indented\n\n[a]: b\n<b>\n"
	type block struct {
		Kind Kind
		Text string
	}
	want := []block{
		{Paragraph, "Text"},
		{Table, "| a |\n|--:|\n| 1 \\| 2 |"},
		{Heading, "# H #"},
		{Heading, "Set\n---"},
		{List, "- x\n\n  y"},
		{Quote, "> q"},
		{Rule, "***"},
		{Code, "```go x\ncode\n```"},
		{Code, "    indented"},
		{Paragraph, "[a]: b"},
		{Paragraph, "<b>"},
	}
	var got []block
	blocks := Blocks(src)
	for _, b := range blocks {
		got = append(got, block{b.Kind, src[b.Start:b.End]})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&Grid{Align: []Align{Right}, Header: []string{"a"}, Rows: [][]string{{"1 | 2"}}}, blocks[1].Grid); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	if b := blocks[7]; b.Lang != "go" || b.Text != "code\n" || blocks[2].Level != 1 || blocks[3].Level != 2 || blocks[8].Text != "indented\n" {
		t.Errorf("code %+v, headings of level %d and %d", b, blocks[2].Level, blocks[3].Level)
	}
	if b := Blocks("a\n\n" + strings.Repeat("-", 1000)); len(b) != 2 || b[1].Kind != Rule {
		t.Errorf("a long rule is %v", b)
	}
}

func TestHead(t *testing.T) {
	for _, tt := range []struct {
		text string
		most int
		want string
	}{{"héllo", 2, "hé"}, {"a😀b", 2, "a"}, {"a😀b", 3, "a😀"}, {"abc", 3, "abc"}, {"abc", 9, "abc"}, {"abc", 0, ""}, {"", 0, ""}, {"\xff\xffx", 2, "\xff\xff"}} {
		if got := Head(tt.text, tt.most); got != tt.want {
			t.Errorf("the first %d of %q: %q, want %q", tt.most, tt.text, got, tt.want)
		}
	}
}

// Bytes counts bytes.
func Bytes(s string) int { return len(s) }
