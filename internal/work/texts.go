package work

import "strings"

// Text is a hostile text of about so many bytes.
type Text struct {
	Name string
	Of   func(size int) string
}

// of repeats a text.
func of(name, text string) Text {
	return Text{name, func(size int) string { return repeat(text, size) }}
}

// after repeats one text after another.
func after(name, first, text string) Text {
	return Text{name, func(size int) string { return first + repeat(text, size) }}
}

func repeat(text string, size int) string { return strings.Repeat(text, size/len(text)+1) }

// grows puts together pieces that grow.
func grows(name string, piece func(n int) string) Text {
	return Text{name, func(size int) string {
		var out strings.Builder
		for n := 1; out.Len() < size; n++ {
			out.WriteString(piece(n))
		}
		return out.String()
	}}
}

// nest is how deep Markdown may be nested before it is taken for plain text.
const nest = 20

// Hostile are texts that cost parsers their square, or worse: of Markdown, of the
// markup of Slack and Discord, of JSON, and of lines.
var Hostile = []Text{
	// Markdown: what is nested
	grows("nested list", func(n int) string { return strings.Repeat("  ", n-1) + "- a\n" }),
	{"lists nested as deep as may be", func(size int) string {
		var one strings.Builder
		for depth := range nest {
			one.WriteString(strings.Repeat("  ", depth) + "- a\n")
		}
		return repeat(one.String(), size)
	}},
	of("quotes", ">a\n"),
	of("nested quotes", strings.Repeat("> ", nest)+"a\n"),
	of("many quotes in a line", ">"),
	of("items", "1. a\n"),
	of("empty items", "-\n\n"),
	of("fences in quotes", "> ```\n"),

	// links
	{"brackets", func(size int) string { return repeat("[", size/2) + "a" + repeat("]", size/2) }},
	of("open links", "[a]("),
	of("links", "[a](http://b/c_d) "),
	of("open pictures", "!["),
	of("pictures", "![a](http://b/c.png)"),
	after("references", "[a]: b\n\n", "[a]["),
	of("definitions", "[a]: b\n"),
	of("open definitions", "[a]: b 'c\n"),
	of("addresses", "<http:"),
	of("bare addresses", "http://a_b_c/ "),
	of("one long address", "http:"),

	// emphasis and code
	of("backticks", "`"),
	grows("rows of backticks", func(n int) string { return strings.Repeat("`", n) + " " }),
	of("code within lines", "`a` ``b`` "),
	of("fences", "```\n"),
	of("code", "```go\na\n```\n"),
	of("one long fence", "a\n```"),
	after("indented code", "    ", "    a\n"),
	of("asterisks", "*"),
	of("underscores", "_"),
	of("double underscores", "__a "),
	of("open emphasis", "*a _b "),
	of("crossed emphasis", "a**b*c_ "),
	of("tildes", "~a ~~b"),
	of("bars", "||a"),

	// tables
	of("pipes", "|"),
	of("rows", "|a|b|\n|-|-|\n"),
	after("a table of one row after the other", "|a|b|\n|-|-|\n", "|c|d|\n"),
	after("a wide table of short rows", strings.Repeat("|a", 200)+"|\n"+strings.Repeat("|-", 200)+"|\n", "|a\n"),
	{"a table of one long cell", func(size int) string {
		return "|a|b|\n|-|-|\n|" + repeat("c", size/2) + "|d|\n" + repeat("|c|d|\n", size/2)
	}},

	// HTML and entities
	of("tags", "<a "),
	of("closed tags", "<b>a</b>"),
	of("comments", "a <!-- "),
	of("instructions", "a <? "),
	of("ampersands", "&"),
	of("entities", "&amp;&#x41;"),
	of("angles", "<>"),

	// what the platforms write
	of("mentions of Slack", "<@U01> "),
	of("mentions of Discord", "<@01> "),
	of("labelled mentions", "<@U01|"),
	of("emoji", "<:a:1> :b: "),
	of("characters of emoji", "👩‍👩‍👧‍👦"),
	of("everybody", "@everyone <!here> "),

	// lines, words and characters
	of("words", "a few words. "),
	of("one word", "a"),
	after("one word of another script", "\"", "а"),
	of("lines", "a\n"),
	{"a paragraph of lines", func(size int) string { return repeat("a\n", size) + "===" }},
	of("empty lines", "\n"),
	of("blanks", " "),
	of("tabs", "\t"),
	grows("lines that grow", func(n int) string { return strings.Repeat("a", n) + "\n" }),
	of("rules", "---\n"),
	of("headings", "# a\n"),
	of("headings below", "a\n===\n"),
	of("backslashes", `\`),
	of("quotation marks", `"`),
	of("invisible characters", "\u200b"),
	of("turned text", "\u202ea"),
	of("marks upon a letter", "\u0301"),
	of("no characters", "\xff"),
	of("controls", "\x1b[31m"),

	// JSON
	{"nested objects", func(size int) string { return repeat(`{"a":`, size) }},
	{"nested lists", func(size int) string { return repeat("[", size/2) + repeat("]", size/2) }},
	{"a list of texts", func(size int) string { return "[" + repeat(`"a",`, size) + `"b"]` }},
	{"one long text", func(size int) string { return `{"a":"` + repeat(`b\n`, size) + `"}` }},
}
