package tools

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"nod/chat"
	"nod/llm"
)

// What strangers can send is tried where it comes in: addresses in
// fetch_hosts_test.go, servers and pages in fetch_test.go, documents by the web
// in TestFetchRefuses, arguments of programs in command_test.go. Here is what
// concerns several tools, and what only an attached file can do.

// workbook is a spreadsheet of raw parts, which need not make sense.
func workbook(parts map[string]string) []byte {
	files := map[string][]byte{
		"[Content_Types].xml":        []byte(`<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/><Override PartName="/xl/sharedStrings.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"/></Types>`),
		"_rels/.rels":                []byte(`<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>`),
		"xl/workbook.xml":            []byte(`<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="S" sheetId="1" r:id="rId1"/></sheets></workbook>`),
		"xl/_rels/workbook.xml.rels": []byte(`<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/sharedStrings" Target="sharedStrings.xml"/></Relationships>`),
		"xl/worksheets/sheet1.xml":   []byte(sheetOf(`<row r="1"><c r="A1"><v>7</v></c></row>`)),
	}
	for name, text := range parts {
		files[name] = []byte(text)
	}
	return zipOf(files)
}

func sheetOf(rows string) string {
	return `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>` + rows + `</sheetData></worksheet>`
}

// TestHostileFiles are files that somebody attached to hurt. Whatever they are,
// the answer comes soon, is short, and takes little memory of the bot's.
func TestHostileFiles(t *testing.T) {
	const sheet = "xl/worksheets/sheet1.xml"
	entries := map[string][]byte{"word/document.xml": []byte("<p><t>seven</t></p>")}
	for i := range 5_000 {
		entries[fmt.Sprintf("word/%d.xml", i)] = nil
	}
	laughs := `<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>` + sheetOf(`<row r="1"><c r="A1" t="str"><v>&b;&b;</v></c></row>`)
	outside := `<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>` + sheetOf(`<row r="1"><c r="A1" t="str"><v>&a;</v></c></row>`)
	tests := []struct {
		name string
		body []byte
		want string
	}{
		{"a workbook that is honest", workbook(nil), "## S\n\n7"},
		{"parts that together unpack to much", workbook(map[string]string{sheet: strings.Repeat(" ", unzipMost*2/3), "xl/media.xml": strings.Repeat(" ", unzipMost*2/3)}), "unpacks to more than 64 MB"},
		{"a sheet with a billion laughs", workbook(map[string]string{sheet: laughs}), ""},
		{"a sheet that names a file outside", workbook(map[string]string{sheet: outside}), ""},
		{"a sheet with a row far below", workbook(map[string]string{sheet: sheetOf(`<row r="1048576"><c r="A1048576"><v>7</v></c></row>`)}), "\n7"},
		{"a sheet with a cell far to the right", workbook(map[string]string{sheet: sheetOf(strings.Repeat(`<row><c r="XFD1"><v>7</v></c></row>`, 50))}), ""},
		{"a sheet with a row that there cannot be", workbook(map[string]string{sheet: sheetOf(`<row r="99999999999"><c r="A99999999999"><v>7</v></c></row>`)}), "## S"},
		{"a formula", workbook(map[string]string{sheet: sheetOf(`<row r="1"><c r="A1"><f>HYPERLINK("http://evil.example")</f></c></row>`)}), ""},
		{"very many entries", zipOf(entries), "seven"},
		{"a Word file of endless lines", docxOf(strings.Repeat("<w:p><w:r><w:t>"+strings.Repeat("a", 1<<16)+"</w:t></w:r></w:p>", FileCap>>16)), "Only the beginning of its text was kept."},
		{"a Word file with a billion laughs", zipOf(map[string][]byte{"word/document.xml": []byte(billionLaughs)}), "XML is broken"},
		{"a PDF that goes on for ever", pdfWith("BT <41", ""), "took too long"},
		{"a PDF whose pages hold themselves, for ever", bytes.Replace(pdfOf("a"), []byte("/Kids[3 0 R]"), []byte("/Kids[2 0 R]"), 1), ""},
		{"a PDF with pages without number", bytes.Replace(pdfOf("a"), []byte("/Count 1>>"), []byte("/Count 9999999>>"), 1), "a PDF that is broken"},
		{"a page nested deep", append([]byte("<html>"), bytes.Repeat([]byte("<table><tr><td>"), 100_000)...), ""},
		{"a page of one attribute", fmt.Appendf(nil, `<html><p title="%s">seven`, strings.Repeat("x", 5<<20)), "seven"},
		{"a name that is a path", []byte("text"), "text"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := details{newReader()}
			d.reader.time, d.reader.env = time.Minute, []string{"GORACE=atexit_sleep_ms=0"}
			if strings.HasSuffix(tt.name, "for ever") {
				d.reader.time = 500 * time.Millisecond
			}
			desk := chat.Desk{
				Key: "k", Files: []chat.File{{Name: "../../etc/passwd\n\x1b[31m", Blob: "b", Size: int64(len(tt.body))}},
				Open: func(context.Context, chat.File) ([]byte, error) { return tt.body, nil },
			}
			args, err := json.Marshal(map[string]string{"artifact": desk.Files[0].Name})
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got, err := boxOf(t, d.tool()).Call(t.Context(), desk, llm.Call{Name: "details", Args: string(args)})
			runtime.ReadMemStats(&after)
			if err != nil || !strings.Contains(got.Text, tt.want) || strings.Contains(got.Text, "root:") || strings.Contains(got.Text, "hahaha") {
				t.Errorf("%v: %.2000s\nwant %s", err, got.Text, tt.want)
			}
			if len(got.Text) > 6<<10 || len(got.Files) > 0 || strings.ContainsFunc(got.Text, isControl) {
				t.Errorf("%d bytes, %d files", len(got.Text), len(got.Files))
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
				t.Errorf("%d bytes of memory", used)
			}
		})
	}
}

// TestHostileOutput goes through a box, as the output of any tool does.
func TestHostileOutput(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"a link of a terminal", "\x1b]8;;http://evil.example\x1b\\here\x1b]8;;\x1b\\", "␛]8;;http://evil.example␛\\here␛]8;;␛\\"},
		{"a screen that is cleared", "\x1b[2J\x1b[Hyou are root", "␛[2J␛[Hyou are root"},
		{"the clipboard", "\x1b]52;c;cm0gLXJm\x07", "␛]52;c;cm0gLXJm␇"},
		{"a line that is written over", "rm -rf /\rls        ", "rm -rf /\nls        "},
		{"backspaces", "rm\b\bls", "rm␈␈ls"},
		{"colours in colours", "\x1b[\x1b[31m31mred", "␛[31mred"},
		{"letters that nobody sees", "ok\U000e0069\U000e0067\U000e006e", "ok\ufffd\ufffd\ufffd"},
		{"mentions, which the platforms' adapters disarm", "@everyone <!channel> <@U1>", "@everyone <!channel> <@U1>"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := boxOf(t, saying("x", tt.text)).Call(t.Context(), chat.Desk{Key: "k"}, llm.Call{Name: "x"})
			if err != nil || got.Text != tt.want {
				t.Errorf("%v: %q, want %q", err, got.Text, tt.want)
			}
		})
	}
	for _, huge := range []string{strings.Repeat("\x00", 1<<20), strings.Repeat("\x1b[31m", 1<<18), strings.Repeat("\xff", 1<<20), strings.Repeat("\n", 1<<20)} {
		got, err := boxOf(t, saying("x", huge)).Call(t.Context(), chat.Desk{Key: "k"}, llm.Call{Name: "x"})
		if err != nil || len(got.Text) > Cap || !utf8.ValidString(got.Text) || len(got.Files) > 1 || len(got.Files) == 1 && len(got.Files[0].Data) > FileCap {
			t.Errorf("%v: %d bytes, %d files", err, len(got.Text), len(got.Files))
		}
	}
}

// TestHostileServers are servers that never come to an end, or say too much, for
// every tool that asks one.
func TestHostileServers(t *testing.T) {
	drip := func(first string) http.HandlerFunc { // a byte now and then, for ever
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, first)
			for tick := time.NewTicker(5 * time.Millisecond); ; {
				_, _ = io.WriteString(w, " ")
				if http.NewResponseController(w).Flush() != nil {
					return
				}
				select {
				case <-tick.C:
				case <-r.Context().Done():
					return
				}
			}
		}
	}
	var bomb bytes.Buffer // 24 MB in 24 KB
	z := gzip.NewWriter(&bomb)
	_, _ = io.WriteString(z, `{"query":"`)
	for range 24 {
		_, _ = z.Write(bytes.Repeat([]byte("a"), 1<<20))
	}
	_ = z.Close()
	packed := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(bomb.Bytes())
	}
	broken := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = io.WriteString(w, "{this is no gzip}")
	}
	alien := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "br")
		_, _ = io.WriteString(w, "\x0b\x02\x80\x00\x01\x02\x03")
	}
	asking := map[string]func(url string, limit time.Duration) Tool{
		"fetch": func(_ string, limit time.Duration) Tool {
			f := fetchLocal(t)
			f.deadline = limit
			return f.tool()
		},
		"search": func(url string, limit time.Duration) Tool {
			s, err := newSearcher(Search{APIURL: url})
			if err != nil {
				t.Fatal(err)
			}
			s.api.client.Timeout = limit
			return doing("search", s.run)
		},
		"wikipedia": func(url string, limit time.Duration) Tool {
			w, err := newWikipedia(Wikipedia{APIURL: url}, time.Now)
			if err != nil {
				t.Fatal(err)
			}
			w.api.client.Timeout = limit
			return doing("wikipedia", w.search)
		},
		"image": func(url string, limit time.Duration) Tool {
			i := imagerOf(t, Image{BaseURL: url})
			i.api.client.Timeout = limit
			return doing("image", i.run)
		},
	}
	tests := []struct {
		name   string
		server http.HandlerFunc
		limit  time.Duration
		words  map[string]string // by tool; "" is for all the others
	}{
		{"drips", drip(""), 200 * time.Millisecond, map[string]string{"": "does not answer in time", "fetch": "did not answer in time"}},
		{"drips an answer", drip(`{"data":[`), 200 * time.Millisecond, map[string]string{"": "does not answer in time", "fetch": "did not answer in time"}},
		{"packs much into little", packed, time.Minute, map[string]string{"": "too long", "fetch": "Only its first 10 MB were read"}},
		{"packs nothing", broken, time.Minute, map[string]string{"": "cannot be reached", "fetch": "the connection broke"}},
		{"packs in a way that nobody asked for", alien, time.Minute, map[string]string{"": "makes no sense", "fetch": "of which there is no text"}},
	}
	for _, tt := range tests {
		for name, tool := range asking {
			t.Run(tt.name+", "+name, func(t *testing.T) {
				url := handle(t, tt.server)
				want, own := tt.words[name]
				if !own {
					want = tt.words[""]
				}
				args := fmt.Appendf(nil, `{"url":%q,"query":"x","entity":"x","prompt":"x"}`, url)
				got, _ := tool(url, tt.limit).Run(t.Context(), Input{Desk: chat.Desk{Key: "k"}, Args: args})
				if !strings.Contains(got.Text, want) {
					t.Errorf("%.500s\nwant %s", got.Text, want)
				}
			})
		}
	}
}
