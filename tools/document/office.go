package document

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/xuri/excelize/v2"

	"nod/tools"
)

const (
	// UnzipMost is the most bytes that a file of a zip may unpack to.
	UnzipMost = 64 << 20
	// xmlDepth is how deep the elements of a document may lie in one another.
	xmlDepth = 500
	// sheetRows limits the rows of a sheet (Excel's limit), for any number that the
	// sheet states.
	sheetRows = 1 << 20
)

var errUnzip = fmt.Errorf("it unpacks to more than %d MB, which is too much", UnzipMost>>20)

// readDOCX gets the text of a Word file (ECMA-376, WordprocessingML):
// paragraphs, headings and tables.
func readDOCX(body []byte) (Content, error) {
	z, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return Content{}, errors.New("it is a Word file that is broken")
	}
	f, err := z.Open("word/document.xml")
	if err != nil {
		return Content{}, errors.New("it is a Word file without text")
	}
	defer func() { _ = f.Close() }()
	// The reader stops at the size that the zip states for a file.
	if info, err := f.Stat(); err != nil || info.Size() > UnzipMost {
		return Content{}, errUnzip
	}
	d := docx{tokens: xml.NewDecoder(f)}
	if err := d.read(); err != nil {
		return Content{}, err
	}
	return Content{Text: strings.TrimSpace(d.out.String())}, nil
}

// docx writes down a document as its elements come. encoding/xml expands no
// entities of the document's own, so there is nothing to blow up in them.
type docx struct {
	tokens *xml.Decoder
	out    strings.Builder
	stack  []string // names of the open elements
	cells  int      // of the table row at hand
	inCell int      // paragraphs of the cell at hand
}

func (d *docx) read() error {
	for d.out.Len() <= tools.FileCap {
		token, err := d.tokens.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return errors.New("it is a Word file whose XML is broken")
		}
		switch t := token.(type) {
		case xml.StartElement:
			if len(d.stack) >= xmlDepth {
				return errors.New("it is a Word file that is nested too deep")
			}
			d.stack = append(d.stack, t.Name.Local)
			d.start(t)
		case xml.EndElement:
			d.stack = d.stack[:len(d.stack)-1]
			d.end(t.Name.Local)
		case xml.CharData:
			if len(d.stack) > 0 && d.stack[len(d.stack)-1] == "t" {
				d.out.Write(t)
			}
		}
	}
	return nil
}

func (d *docx) start(t xml.StartElement) {
	switch t.Name.Local {
	case "tab":
		d.out.WriteByte('\t')
	case "br", "cr":
		d.out.WriteByte('\n')
	case "pStyle":
		d.heading(t)
	case "tr":
		d.cells = 0
	case "tc":
		if d.cells > 0 {
			d.out.WriteString(" | ")
		}
		d.cells++
		d.inCell = 0
	case "p":
		if slices.Contains(d.stack, "tc") && d.inCell > 0 {
			d.out.WriteByte(' ')
		}
		d.inCell++
	}
}

// heading marks a paragraph of a style such as Heading1.
func (d *docx) heading(t xml.StartElement) {
	for _, a := range t.Attr {
		level := strings.TrimPrefix(strings.ToLower(a.Value), "heading")
		if a.Name.Local == "val" && len(level) == 1 && level >= "1" && level <= "6" {
			d.out.WriteString(strings.Repeat("#", int(level[0]-'0')) + " ")
		}
		if a.Name.Local == "val" && strings.EqualFold(a.Value, "title") {
			d.out.WriteString("# ")
		}
	}
}

func (d *docx) end(name string) {
	switch {
	case name == "p" && !slices.Contains(d.stack, "tc"):
		d.out.WriteString("\n\n")
	case name == "tr":
		d.out.WriteByte('\n')
	case name == "tbl":
		d.out.WriteByte('\n')
	}
}

// readXLSX makes CSV of each sheet of a workbook.
func readXLSX(body []byte) (Content, error) {
	f, err := excelize.OpenReader(bytes.NewReader(body), excelize.Options{UnzipSizeLimit: UnzipMost, UnzipXMLSizeLimit: UnzipMost})
	if err != nil {
		if strings.Contains(err.Error(), "unzip size exceeds") {
			return Content{}, errUnzip
		}
		return Content{}, errors.New("it is a spreadsheet that is broken, or needs a password")
	}
	defer func() { _ = f.Close() }()
	var b bytes.Buffer
	var note string
	var sections []Section
	for _, sheet := range f.GetSheetList() {
		sections = append(sections, Section{Title: tools.OneLine(sheet, 100), At: b.Len()})
		fmt.Fprintf(&b, "## %s\n\n", tools.OneLine(sheet, 100))
		if err := writeSheet(&b, f, sheet); err != nil {
			note = "Not all of its sheets could be read."
		}
		b.WriteByte('\n')
		if b.Len() > tools.FileCap {
			break
		}
	}
	return Content{Text: strings.TrimSpace(b.String()), Note: note, Sections: sections}, nil
}

func writeSheet(b *bytes.Buffer, f *excelize.File, sheet string) error {
	rows, err := f.Rows(sheet)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	w := csv.NewWriter(b)
	empty := 0
	for n := 0; n < sheetRows && b.Len() <= tools.FileCap && rows.Next(); n++ {
		cells, err := rows.Columns()
		if err != nil {
			return err
		}
		if len(cells) == 0 {
			if empty++; empty > 1000 {
				continue // a sheet may claim a million rows and have three
			}
		}
		if err := w.Write(cells); err != nil {
			return err
		}
		w.Flush()
	}
	return errors.Join(rows.Error(), w.Error())
}
