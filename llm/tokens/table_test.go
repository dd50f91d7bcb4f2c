package tokens

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dlclark/regexp2/v2"
	"github.com/tiktoken-go/tokenizer/codec"
)

var update = flag.Bool("update", false, "write the table anew")

// pieces is the expression that is published for the table.
const pieces = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?` +
	`|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?` +
	`|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`

// The file holds the library's tokens, in the order of their ranks.
func TestTable(t *testing.T) {
	library := codec.NewO200kBase()
	var want strings.Builder
	for id, missed := uint(0), 0; missed < 1000; id++ { // the numbers have gaps
		token, err := library.Decode([]uint{id})
		if err != nil {
			missed++
			continue
		}
		if missed = 0; len(token) > 255 {
			t.Fatalf("a token of %d bytes", len(token))
		}
		want.WriteByte(byte(len(token)))
		want.WriteString(token)
	}
	const file = "o200k_base.bin"
	if *update {
		if err := os.WriteFile(file, []byte(want.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(file); err != nil || string(have) != want.String() {
		t.Errorf("%s is not what the library has (%v): go test ./llm/tokens -update", file, err)
	}
}

// odd are texts at which pieces end in ways that are easily got wrong.
var odd = []string{
	"", " ", "  ", "\n", " \n", "\n ", " \n \n x", "\t\tx", "x\t\ty", "a  b", "a   ", "\r\n\r\n", "   \r\n   indented",
	"don't DON'T we'll WE'LL they'ſ 'tis 'Twas I'm you'd 've 're'", "'", "''s", "x'", "x's's",
	"camelCase HTTPServer ABCdefGHI XMLHttpRequest McDonald", "ABC", "ABC's", " ABC", "1ABC", "1234567 12.5 1,000,000 ½ Ⅷ ٣٤٥٦",
	"a/b/c // path/\n/\n", "!!!\n\n\n", " !!!/\r\n", "?!\u00a0?!", "\u00a0\u00a0x", "\u2028\u2029x", "\u0085y", "\u200bz", "\ufeffbom",
	"日本語のテキスト、です。", "これは日本語の文章です。 Она написала длинное письмо.", "ǅ ǅa Aǅ ʰa ʰA Aʰ AʰB aʰB",
	"e\u0301 \u0301 \u0301A \u0301AB \u0301a \u0301\u0301 A\u0301B A\u0301 A\u0301b", "👍🏽 👩‍👩‍👧", "한국어 텍스트", "ไทย", "नमस्ते", "\u0301\u0301X\u0301",
	"<|endoftext|>", "```go\nfunc main() {\n\tfmt.Println(\"hello\")\n}\n```\n", "https://example.org/a?b=c&d=%20#e",
	"\x00\x01\x7f", "snake_case kebab-case a.b.c", "K K ſ ſ's", "İi", "ß", "ﬁ", "Ⓐ ⓐ", "𝒜𝒷", "\U000e0001",
}

// Every text is cut as the published expression cuts it, and each piece is as many
// tokens as by the library.
func TestCounts(t *testing.T) {
	texts := append([]string{strings.Repeat("x", 3000), strings.Repeat("ab", 2000), strings.Repeat("=", 3000), strings.Repeat("界", 2000), strings.Repeat(" ", 3000)}, odd...)
	docs, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(docs) == 0 {
		t.Fatal("no texts to count", err)
	}
	for _, name := range append(docs, "table.go", "../../adapters/web/page/page.js") {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(data[:min(len(data), 10_000)]))
	}
	compare := comparer()
	for _, text := range texts {
		compare(t, text)
	}
}

func FuzzCounts(f *testing.F) {
	for _, text := range odd {
		f.Add(text)
	}
	compare := comparer()
	f.Fuzz(compare)
}

// comparer gives what counts a text both ways.
func comparer() func(t *testing.T, text string) {
	// In a group, since the library brings an engine of its own for exactly this
	// expression, and it is to be read by the general one.
	cut, library := regexp2.MustCompile("(?:"+pieces+")", regexp2.None), codec.NewO200kBase()
	return func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "\uFFFD")
		total := 0
		m, err := cut.FindStringMatch(text)
		for at := 0; at < len(text); m, err = cut.FindNextMatch(m) {
			piece := text[at:]
			piece = piece[:endPiece(piece)]
			if err != nil || m == nil || m.String() != piece {
				t.Fatalf("a piece %q of %.60q, want %v", piece, text, m)
			}
			have := o200k().count(piece)
			if want, err := library.Count(piece); err != nil || have != want && !slips(piece) {
				t.Errorf("%d tokens of the piece %.60q, want %d", have, piece, want)
			}
			total, at = total+have, at+len(piece)
		}
		if n := o200k().count(text); n != total {
			t.Errorf("%d tokens of %.60q, want %d", n, text, total)
		}
	}
}

// slips says whether the library takes a piece for several, or does not see all of
// it: its own engine stops at the first line end in a space, and leaves DEL out.
func slips(piece string) bool {
	return strings.Contains(piece, "\x7f") || strings.TrimSpace(piece) == "" && strings.ContainsAny(piece, "\r\n")
}

func BenchmarkCount(b *testing.B) {
	data, err := os.ReadFile("../../docs/operate.md")
	if err != nil {
		b.Fatal(err)
	}
	text := string(data[:3000])
	library := codec.NewO200kBase()
	b.Run("nod", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			o200k().count(text)
		}
	})
	b.Run("library", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if _, err := library.Count(text); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkIndex measures the first count, which builds the index.
func BenchmarkIndex(b *testing.B) {
	for b.Loop() {
		index(o200kBase)
	}
}
