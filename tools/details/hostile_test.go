package details

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"nod/chat"
	"nod/internal/tooltest"
	"nod/llm"
	"nod/tools"
	"nod/tools/document"
)

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
	return tooltest.Zip(files)
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
		{"parts that together unpack to much", tooltest.Spaces(map[string]int{"xl/workbook.xml": document.UnzipMost >> 20 * 2 / 3, "xl/media.xml": document.UnzipMost >> 20 * 2 / 3}), "unpacks to more than 64 MB"},
		{"a sheet with a billion laughs", workbook(map[string]string{sheet: laughs}), ""},
		{"a sheet that names a file outside", workbook(map[string]string{sheet: outside}), ""},
		{"a sheet with a row far below", workbook(map[string]string{sheet: sheetOf(`<row r="1048576"><c r="A1048576"><v>7</v></c></row>`)}), "\n7"},
		{"a sheet with a cell far to the right", workbook(map[string]string{sheet: sheetOf(strings.Repeat(`<row><c r="XFD1"><v>7</v></c></row>`, 50))}), ""},
		{"a sheet with a row that there cannot be", workbook(map[string]string{sheet: sheetOf(`<row r="99999999999"><c r="A99999999999"><v>7</v></c></row>`)}), "## S"},
		{"a formula", workbook(map[string]string{sheet: sheetOf(`<row r="1"><c r="A1"><f>HYPERLINK("http://evil.example")</f></c></row>`)}), ""},
		{"very many entries", tooltest.Zip(entries), "seven"},
		{"a Word file of endless lines", tooltest.DOCX(strings.Repeat("<w:p><w:r><w:t>"+strings.Repeat("a", 1<<16)+"</w:t></w:r></w:p>", tools.FileCap>>16)), "Only the beginning of its text was kept."},
		{"a Word file with a billion laughs", tooltest.Zip(map[string][]byte{"word/document.xml": []byte(tooltest.BillionLaughs)}), "XML is broken"},
		{"a PDF that goes on for ever", tooltest.PDFWith("BT <41", ""), "took too long"},
		{"a PDF whose pages hold themselves, for ever", bytes.Replace(tooltest.PDF("a"), []byte("/Kids[3 0 R]"), []byte("/Kids[2 0 R]"), 1), ""},
		{"a PDF with pages without number", bytes.Replace(tooltest.PDF("a"), []byte("/Count 1>>"), []byte("/Count 9999999>>"), 1), "a PDF that is broken"},
		{"a page nested deep", append([]byte("<html>"), bytes.Repeat([]byte("<table><tr><td>"), 100_000)...), ""},
		{"a page of one attribute", fmt.Appendf(nil, `<html><p title="%s">seven`, strings.Repeat("x", 1<<20)), "seven"},
		{"a name that is a path", []byte("text"), "text"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := reading{document.NewReader()}
			d.reader.Time, d.reader.Env = 10*time.Minute, []string{"GORACE=atexit_sleep_ms=0"}
			if strings.HasSuffix(tt.name, "for ever") {
				d.reader.Time = 500 * time.Millisecond
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
			got, err := tooltest.Box(t, d.tool()).Call(t.Context(), desk, llm.Call{Name: "details", Args: string(args)})
			runtime.ReadMemStats(&after)
			if err != nil || !strings.Contains(got.Text, tt.want) || strings.Contains(got.Text, "root:") || strings.Contains(got.Text, "hahaha") {
				t.Errorf("%v: %.2000s\nwant %s", err, got.Text, tt.want)
			}
			if len(got.Text) > 6<<10 || len(got.Files) > 0 || strings.ContainsFunc(got.Text, tools.IsControl) {
				t.Errorf("%d bytes, %d files", len(got.Text), len(got.Files))
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
				t.Errorf("%d bytes of memory", used)
			}
		})
	}
}
