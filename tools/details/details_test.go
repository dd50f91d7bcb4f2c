package details

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"nod/chat"
	"nod/internal/tooltest"
	"nod/llm"
	"nod/tools"
	"nod/tools/document"
)

// kept is a file of a thread with its content.
type kept struct {
	name, mediaType string
	body            []byte
}

// detailsOf gives calls of the tool in a thread that holds files.
func detailsOf(t testing.TB, files ...kept) func(args string) (llm.Result, error) {
	t.Helper()
	d := reading{document.NewReader()}
	d.reader.Time, d.reader.Env = 10*time.Minute, []string{"GORACE=atexit_sleep_ms=0"}
	box, err := tools.NewBox(d.tool())
	if err != nil {
		t.Fatal(err)
	}
	desk := chat.Desk{Key: "k"}
	bodies := map[string][]byte{}
	for i, f := range files {
		blob := fmt.Sprint("blob", i)
		bodies[blob] = f.body
		desk.Files = append(desk.Files, chat.File{Name: f.name, MediaType: f.mediaType, Size: int64(len(f.body)), Blob: blob})
	}
	desk.Open = func(_ context.Context, f chat.File) ([]byte, error) {
		body, ok := bodies[f.Blob]
		if !ok {
			return nil, os.ErrNotExist
		}
		return body, nil
	}
	return func(args string) (llm.Result, error) {
		return box.Call(t.Context(), desk, llm.Call{Name: "details", Args: args})
	}
}

// numbered has n lines "line 1", "line 2" …
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

const manual = `# Kettles
All about them.

## Filling
Take cold water.

### Limits
Never above the mark.

## Boiling
` + "```sh\n# not a heading\n```" + `
Press the button.
`

func TestDetails(t *testing.T) {
	csv := "day,close\n2026-01-02,10.5\n2026-01-03,11\n"
	sheet := tooltest.XLSX(t)
	word := tooltest.DOCX(`<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Plan</w:t></w:r></w:p><w:p><w:r><w:t>one</w:t></w:r></w:p><w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Costs</w:t></w:r></w:p><w:p><w:r><w:t>two</w:t></w:r></w:p>`)
	minified := `{"name":"x","rows":[` + strings.Repeat(`{"a":1,"b":"two"},`, 200) + `{"a":"needle"}],"end":true}`
	call := detailsOf(t,
		kept{"log.txt", "text/plain", []byte(numbered(500))},
		kept{"manual.md", "text/markdown", []byte(manual)},
		kept{"prices.csv", "text/csv", []byte(csv)},
		kept{"german.csv", "application/octet-stream", []byte("Tag;Wert\n1;2,5\n")},
		kept{"report.pdf", "application/pdf", tooltest.PDF("Total: 42 EUR", "second line")},
		kept{"plan.docx", "", word},
		kept{"book.xlsx", "application/zip", sheet},
		kept{"photo.png", "image/png", tooltest.PNG(t)},
		kept{"page.html", "text/html", []byte(`<title>T</title><h1>Head</h1><p>Hello <a href="/more">more</a></p><script>no()</script>`)},
		kept{"data.json", "application/json", []byte(`{"a":1,"b":{"c":[1,2]}}`)},
		kept{"minified.json", "application/json", []byte(minified)},
		kept{"list.json", "application/json", []byte(`[1,[2,3],{"a":4}]`)},
		kept{"events.json", "application/json", []byte("{\"a\":1}\n{\"a\":2}\n")},
		kept{"main.py", "text/x-python", []byte("# comment\nprint(1)\n")},
		kept{"latin.txt", "text/plain; charset=iso-8859-1", []byte("caf\xe9\n")},
		kept{"empty.txt", "text/plain", nil},
		kept{"movie.mp4", "video/mp4", []byte("\x00\x00\x00\x18ftypmp42")},
		kept{"broken.pdf", "application/pdf", []byte("%PDF-1.4\nnothing")},
		kept{"escape.txt", "text/plain", []byte("a\x1b]0;x\x07b\n")},
		kept{"blank.json", "application/json", []byte("   ")},
	)
	tests := []struct {
		name, args string
		want       []string
		not        string
		failed     bool
	}{
		{"about a text", `{"artifact":"log.txt"}`, []string{"log.txt is a text file (4.3 KB). The text has 500 lines.", "Lines 1 to 500:\nline 1\nline 2"}, "Sections", false},
		{"another letter case", `{"artifact":" LOG.txt "}`, []string{"log.txt is a text file"}, "", false},
		{"a range", `{"artifact":"log.txt","lines":"120-122"}`, []string{"log.txt, lines 120 to 122 of 500:\nline 120\nline 121\nline 122"}, "line 123", false},
		{"one line", `{"artifact":"log.txt","lines":"line 7"}`, []string{"lines 7 to 7 of 500:\nline 7"}, "line 8", false},
		{"an open range", `{"artifact":"log.txt","lines":"499-"}`, []string{"lines 499 to 500 of 500:\nline 499\nline 500"}, "", false},
		{"the last lines", `{"artifact":"log.txt","lines":"-2"}`, []string{"lines 499 to 500 of 500:\nline 499\nline 500"}, "", false},
		{"a range that ends late", `{"artifact":"log.txt","lines":"L500..L900"}`, []string{"lines 500 to 500 of 500"}, "", false},
		{"a range that begins late", `{"artifact":"log.txt","lines":"501-510"}`, []string{"there is no line 501; the text has 500"}, "", true},
		{"a range of huge numbers", `{"artifact":"log.txt","lines":"99999999999999999999-"}`, []string{"there is no line 99999999999999999999"}, "", true},
		{"a range backwards", `{"artifact":"log.txt","lines":"9-3"}`, []string{"ends before it begins"}, "", true},
		{"no range", `{"artifact":"log.txt","lines":"first ten"}`, []string{"is no range of lines"}, "", true},
		{"a query", `{"artifact":"log.txt","query":"LINE 250"}`, []string{"log.txt: 1 lines of 500 hold \"line\" and \"250\"\n", "248- line 248\n249- line 249\n250: line 250\n251- line 251\n252- line 252"}, "line 253", false},
		{"a query with many matches", `{"artifact":"log.txt","query":"line 49"}`, []string{"15 lines of 500", "47- line 47\n48- line 48\n49: line 49\n50- line 50\n51- line 51\n--\n147- line 147", "488- line 488\n489- line 489\n490: line 490\n491: line 491\n492: line 492", "499: line 499\n500- line 500"}, "", false},
		{"a query with more than are shown", `{"artifact":"log.txt","query":"line"}`, []string{"500 lines of 500", "the first 20 are shown", "20: line 20\n21- line 21"}, "line 23", false},
		{"a phrase", `{"artifact":"manual.md","query":"\"the button\""}`, []string{`hold "the button"`, ": Press the button."}, "", false},
		{"words that no line holds together", `{"artifact":"manual.md","query":"cold button"}`, []string{"2 lines of 14 hold", "none holds all of these words; these hold 1 of 2", "[Filling]\n", "5: Take cold water.", "[Boiling]\n", "Press the button."}, "", false},
		{"nothing found", `{"artifact":"log.txt","query":"kettle"}`, []string{`No line of log.txt holds "kettle"; all 500 were looked through.`}, "", false},
		{"punctuation", `{"artifact":"manual.md","query":"?!"}`, []string{`No line of manual.md holds "?!"`}, "", false},
		{"an outline", `{"artifact":"manual.md"}`, []string{"Sections:\n- Kettles (line 1)\n  - Filling (line 4)\n    - Limits (line 7)\n  - Boiling (line 10)\n"}, "not a heading (", false},
		{"a section with what is below it", `{"artifact":"manual.md","section":"## filling"}`, []string{`manual.md, "Filling", lines 4 to 8 of 14:` + "\n## Filling\nTake cold water.\n\n### Limits\nNever above the mark."}, "Boiling", false},
		{"a section by a part", `{"artifact":"manual.md","section":"boil"}`, []string{`"Boiling", lines 10 to 14`}, "", false},
		{"no such section", `{"artifact":"manual.md","section":"Fillings"}`, []string{`has no section "Fillings"; there are: Filling, `}, "", true},
		{"a section of what has none", `{"artifact":"log.txt","section":"a"}`, []string{"has no sections"}, "", true},
		{"a table", `{"artifact":"prices.csv"}`, []string{"a table with 2 columns and 2 rows", "Columns: day, close\n"}, "", false},
		{"rows of a table", `{"artifact":"prices.csv","lines":"3"}`, []string{"Columns: day, close\n2026-01-03,11"}, "", false},
		{"a query in a table", `{"artifact":"prices.csv","query":"10.5"}`, []string{"Columns: day, close\n1- day,close\n2: 2026-01-02,10.5"}, "", false},
		{"semicolons", `{"artifact":"german.csv"}`, []string{"a table with 2 columns and 1 rows", "Columns: Tag, Wert"}, "", false},
		{"a PDF", `{"artifact":"report.pdf"}`, []string{"a PDF file, as text", "It has 1 pages.", "- page 1 (line 1)", "Total: 42 EUR"}, "", false},
		{"a page", `{"artifact":"report.pdf","section":"1"}`, []string{`report.pdf, "page 1", lines 1 to 3`, "second line"}, "", false},
		{"no such page", `{"artifact":"report.pdf","section":"page 7"}`, []string{"there are: page 1"}, "", true},
		{"a match on a page", `{"artifact":"report.pdf","query":"42"}`, []string{"[page 1]\n", "2: Total: 42 EUR"}, "", false},
		{"a Word file's section", `{"artifact":"plan.docx","section":"Costs"}`, []string{"# Costs\n\ntwo"}, "one", false},
		{"a workbook", `{"artifact":"book.xlsx"}`, []string{"a spreadsheet", "- Prices (line 1)", "- Empty (line"}, "", false},
		{"a sheet", `{"artifact":"book.xlsx","section":"prices"}`, []string{"day,close\n2026-01-02,10.5"}, "Empty", false},
		{"a picture", `{"artifact":"photo.png","query":"x"}`, []string{"photo.png is a picture (png, 3 × 2 pixels, 1 KB) ", "It cannot be read as text."}, "", false},
		{"a page of the web", `{"artifact":"page.html"}`, []string{"a web page, as text", "- Head (line 1)", "[more](/more)"}, "no()", false},
		{"JSON", `{"artifact":"data.json"}`, []string{"a JSON object with 2 keys", "- a (line 1)\n- b (line 1)", `{"a":1,"b":{"c":[1,2]}}`}, "", false},
		{"minified JSON", `{"artifact":"minified.json","query":"needle"}`, []string{"1 lines of", "[rows]\n", `"a": "needle"`}, "name", false},
		{"a key of JSON", `{"artifact":"minified.json","section":"end"}`, []string{`"end": true`}, "needle", false},
		{"a list", `{"artifact":"list.json"}`, []string{"a JSON list of 3 values"}, "Sections", false},
		{"a value a line", `{"artifact":"events.json"}`, []string{"a text file", "has 2 lines"}, "", false},
		{"source", `{"artifact":"main.py"}`, []string{"a text file", "# comment"}, "Sections", false},
		{"Latin-1", `{"artifact":"latin.txt"}`, []string{"café"}, "", false},
		{"an empty file", `{"artifact":"empty.txt","query":"x"}`, []string{"empty.txt is empty (0 bytes)."}, "", false},
		{"spaces", `{"artifact":"blank.json"}`, []string{"blank.json is empty"}, "", false},
		{"a film", `{"artifact":"movie.mp4"}`, []string{"movie.mp4 was not read: it is video/mp4, of which there is no text"}, "", true},
		{"a broken PDF", `{"artifact":"broken.pdf"}`, []string{"broken.pdf was not read: it is a PDF that is broken"}, "", true},
		{"escapes", `{"artifact":"escape.txt"}`, []string{"a␛]0;x␇b"}, "", false},
		{"no such file", `{"artifact":"reprot.pdf"}`, []string{`there is no file "reprot.pdf" in this conversation; there are: report.pdf, `}, "", true},
		{"two ways", `{"artifact":"log.txt","query":"a","lines":"1"}`, []string{"give only one of"}, "", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := call(tt.args)
			if err != nil || got.Failed != tt.failed || len(got.Files) != 0 {
				t.Errorf("failed %v, error %v, %d files", got.Failed, err, len(got.Files))
			}
			for _, want := range tt.want {
				if !strings.Contains(got.Text, want) {
					t.Errorf("no %q in:\n%s", want, got.Text)
				}
			}
			if tt.not != "" && strings.Contains(got.Text, tt.not) {
				t.Errorf("%q is in:\n%s", tt.not, got.Text)
			}
		})
	}
}

func TestFindsSections(t *testing.T) {
	p := paper{sections: []document.Section{{Title: "page 12"}, {Title: "page 3"}, {Title: "2. Results"}, {Title: "Discussion of Results"}, {Title: "2"}}}
	for title, want := range map[string]int{
		"page 12": 0, "12": 0, "page 1": -1, "1": -1, "Page  3": 1, "3": 1, "2": 4, "2.": 2, "results": 2, "## discussion": 3, "of results": 3, "": -1, "#": -1, "none": -1,
	} {
		if got, ok := p.find(title); ok != (want >= 0) || ok && got != want {
			t.Errorf("%q is section %d, %v; want %d", title, got, ok, want)
		}
	}
}

// TestOpens is about the ways in which content is there or is not.
func TestOpens(t *testing.T) {
	gone := errors.New("blob b is gone")
	tests := []struct {
		name           string
		files          []chat.File
		body           string
		err            error
		want, operator string
	}{
		{"no files", nil, "", nil, "there are no files in this conversation", ""},
		{"too large", []chat.File{{Name: "a", Size: 30 << 20, Blob: "b"}}, "", nil, "a was not read: it has 30.0 MB, and 20.0 MB are the most", ""},
		{"not kept", []chat.File{{Name: "a", Size: 3}}, "", nil, "its content was not kept", ""},
		{"only its beginning", []chat.File{{Name: "a", Size: 9000, Text: "hello"}}, "", nil, "(8.8 KB). Only its beginning was kept. The text has 1 lines.", ""},
		{"gone", []chat.File{{Name: "a", Blob: "b"}}, "", gone, "a was not read: it could not be opened", "blob b is gone"},
		{"the newest of a name", []chat.File{{Name: "a", Text: "old"}, {Name: "a", Blob: "b"}}, "new", nil, "\nnew", ""},
		{"exactly before nearly", []chat.File{{Name: "a", Blob: "b"}, {Name: "A", Text: "other"}}, "mine", nil, "\nmine", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			desk := chat.Desk{Key: "k", Files: tt.files, Open: func(context.Context, chat.File) ([]byte, error) { return []byte(tt.body), tt.err }}
			got, err := tooltest.Box(t, New()).Call(t.Context(), desk, llm.Call{Name: "details", Args: `{"artifact":"a"}`})
			if !strings.Contains(got.Text, tt.want) {
				t.Errorf("%s\nwant %s", got.Text, tt.want)
			}
			if (err != nil) != (tt.operator != "") || err != nil && !strings.Contains(err.Error(), tt.operator) {
				t.Errorf("error %v, want %q", err, tt.operator)
			}
		})
	}
	desk := chat.Desk{Key: "k", Files: []chat.File{{Name: "a", Blob: "b"}}}
	if got, err := tooltest.Box(t, New()).Call(t.Context(), desk, llm.Call{Name: "details", Args: `{"artifact":"a"}`}); err != nil || !got.Failed {
		t.Errorf("with nothing to open it by: %v: %s", err, got.Text)
	}
}

// fiveMegabytes is a log with one line that matters.
func fiveMegabytes() []byte {
	var b strings.Builder
	for i := 0; b.Len() < 5<<20; i++ {
		if i == 70_000 {
			b.WriteString("ERROR the boiler says 1234\n")
		}
		fmt.Fprintf(&b, "%06d Info nothing happened, as it should be\n", i)
	}
	return []byte(b.String())
}

// TestMuch reads a long text, and what is long in an unpleasant way,
// and looks at how much memory that takes.
func TestMuch(t *testing.T) {
	long := fiveMegabytes()
	oneLine := append([]byte(strings.Repeat("Wort ", 1<<18)), "the needle is here"...)
	deep := []byte(strings.Repeat("[", 9000) + strings.Repeat("]", 9000))
	deep = []byte("[" + strings.Repeat(string(deep)+",", 50) + "1]")
	call := detailsOf(t,
		kept{"long.log", "text/plain", long},
		kept{"line.txt", "text/plain", oneLine},
		kept{"deep.json", "application/json", deep},
		kept{"keys.json", "application/json", []byte(`{` + strings.Repeat(`"a":1,`, 100_000) + `"b":2}`)},
		kept{"heads.md", "text/markdown", []byte(strings.Repeat("# head\n", 500_000))},
		kept{"quote.csv", "text/csv", append([]byte("a,b\n\""), long...)},
		kept{"lines.txt", "text/plain", []byte(strings.Repeat("\n", 1<<20) + "x")},
		kept{"dots.txt", "text/plain", []byte(strings.Repeat("\x01", 1<<20) + "x")},
		kept{"wide.txt", "text/plain", []byte(strings.Repeat("Info "+strings.Repeat("x", 980)+"\n", 5000))},
		kept{"case.txt", "text/plain", []byte(strings.Repeat("İ", 1<<18) + " Needle")},
	)
	tests := []struct{ name, args, want string }{
		{"a query", `{"artifact":"long.log","query":"boiler error"}`, "70001: ERROR the boiler says 1234\n"},
		{"a query for every line", `{"artifact":"long.log","query":"info"}`, "the first 20 are shown"},
		{"the last lines", `{"artifact":"long.log","lines":"-3"}`, "nothing happened"},
		{"all lines", `{"artifact":"long.log","lines":"1-"}`, "read on with lines"},
		{"about it", `{"artifact":"long.log"}`, "5.0 MB"},
		{"one line", `{"artifact":"line.txt","query":"needle"}`, "bytes …] t Wort"},
		{"one line, shown", `{"artifact":"line.txt","lines":"1"}`, " bytes]"},
		{"deep", `{"artifact":"deep.json"}`, "a JSON list of 51 values"},
		{"keys", `{"artifact":"keys.json"}`, "a JSON object with 100001 keys"},
		{"headings", `{"artifact":"heads.md"}`, "- head (line 1)\n"},
		{"no such heading", `{"artifact":"heads.md","section":"tail"}`, "and 1970 more"},
		{"a quote that stays open", `{"artifact":"quote.csv"}`, "a table with 2 columns"},
		{"empty lines", `{"artifact":"lines.txt","query":"x"}`, "1048577: x"},
		{"control characters", `{"artifact":"dots.txt","lines":"1"}`, "␁"},
		{"control characters, looked through", `{"artifact":"dots.txt","query":"x"}`, "␁x"},
		{"wide lines", `{"artifact":"wide.txt","lines":"10-"}`, "(read on with lines \"15-5000\")"},
		{"wide lines, looked through", `{"artifact":"wide.txt","query":"info"}`, "5000 lines of 5000 hold \"info\"; the first 12 are shown"},
		{"letters whose lower case is longer", `{"artifact":"case.txt","query":"needle"}`, "İ Needle"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got, err := call(tt.args)
			runtime.ReadMemStats(&after)
			if err != nil || got.Failed && tt.name != "no such heading" || !strings.Contains(got.Text, tt.want) {
				t.Errorf("%v: %s\nwant %s", err, got.Text, tt.want)
			}
			if len(got.Text) > 6<<10 || !utf8.ValidString(got.Text) || len(got.Files) != 0 {
				t.Errorf("%d bytes, %d files", len(got.Text), len(got.Files))
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 100<<20 {
				t.Errorf("%d bytes of memory", used)
			}
		})
	}
}

func BenchmarkQuery(b *testing.B) {
	call := detailsOf(b, kept{"long.log", "text/plain", fiveMegabytes()})
	b.ReportAllocs()
	for b.Loop() {
		if got, err := call(`{"artifact":"long.log","query":"boiler error"}`); err != nil || got.Failed {
			b.Fatal(err, got.Text)
		}
	}
}

// TestLines reads any text in windows, one behind the other, as a model
// would, and has all of it.
func TestLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.StringN(0, 300, 900), 1, 100).Draw(t, "lines"), "\n")
		text = strings.Map(func(r rune) rune {
			if r != '\n' && tools.IsControl(r) {
				return -1
			}
			return r
		}, text)
		p := paper{text: text, count: document.Lines(text)}
		var all []string
		for from := 1; from <= p.count; {
			end, part := p.window(from, p.count, 2000)
			if end < from || len(part) > 2100 {
				t.Fatalf("%d bytes, up to line %d from %d", len(part), end, from)
			}
			all = append(all, part)
			from = end + 1
		}
		if diff := cmp.Diff(strings.TrimSuffix(text, "\n"), strings.Join(all, "\n")); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

func FuzzDetails(f *testing.F) {
	f.Add("a.json", []byte(`{"a":"\\","b":[1,{}],"c":"\"x"}`), "a", "1-2", "b")
	f.Add("a.log", []byte("a;b\n\"1;2\n"), "İ", "-1", "")
	f.Add("a.md", []byte("# \n```\n# a\n~~~\n## b #"), "\"\"", "x", "#")
	f.Add("a.txt", []byte("\xff\xfea\x00"), "?", "0-0", "page")
	f.Fuzz(func(t *testing.T, name string, body []byte, query, rng, title string) {
		extension := strings.ToLower(path.Ext(name))
		if extension == ".csv" || extension == ".tsv" || document.KindOf(body) != "" || strings.HasPrefix(http.DetectContentType(body), "text/html") || strings.HasPrefix(extension, ".htm") {
			return // for the process that reads documents
		}
		p, err := reading{}.read(t.Context(), chat.File{Name: name, MediaType: "text/plain"}, body)
		if err != nil {
			return
		}
		for _, arg := range []arguments{{}, {Query: query}, {Lines: rng}, {Section: title}} {
			if text, err := p.answer(arg); err == nil && len(text) > tools.Cap {
				t.Errorf("%d bytes", len(text))
			}
		}
	})
}
