package tooltest

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/zlib"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/png"
	"io"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"
)

// Zip packs files.
func Zip(files map[string][]byte) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestSpeed) })
	for name, data := range files {
		h := zip.FileHeader{Name: name, Method: zip.Deflate}
		if len(data) == 0 {
			h.Method = zip.Store // a compressor takes a while to set up
		}
		w, err := z.CreateHeader(&h)
		if err != nil {
			panic(err)
		}
		if _, err := w.Write(data); err != nil {
			panic(err)
		}
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// Spaces packs files of spaces, of so many megabytes each. To pack every one of
// those takes seconds, so one is packed, and repeated.
func Spaces(files map[string]int) []byte {
	var packed, b bytes.Buffer
	megabyte := bytes.Repeat([]byte(" "), 1<<20)
	d, err := flate.NewWriter(&packed, flate.BestSpeed)
	if err == nil {
		_, err = d.Write(megabyte)
	}
	if err == nil {
		err = d.Flush()
	}
	z := zip.NewWriter(&b)
	for name, n := range files {
		raw := append(bytes.Repeat(packed.Bytes(), n), 1, 0, 0, 0xff, 0xff) // and a last block, which is empty
		h := zip.FileHeader{Name: name, Method: zip.Deflate, CompressedSize64: uint64(len(raw)), UncompressedSize64: uint64(n) << 20}
		for range n {
			h.CRC32 = crc32.Update(h.CRC32, crc32.IEEETable, megabyte)
		}
		w, e := z.CreateRaw(&h)
		if e == nil {
			_, e = w.Write(raw)
		}
		err = errors.Join(err, e)
	}
	if err = errors.Join(err, z.Close()); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// DOCX is a Word file with this body.
func DOCX(body string) []byte {
	return Zip(map[string][]byte{"word/document.xml": []byte(`<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>` + body + `</w:body></w:document>`)})
}

// XLSX is a workbook of two sheets, Prices and Empty.
func XLSX(t testing.TB) []byte {
	t.Helper()
	f := excelize.NewFile()
	for cell, value := range map[string]any{"A1": "day", "B1": "close", "A2": "2026-01-02", "B2": 10.5} {
		if err := f.SetCellValue("Sheet1", cell, value); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.SetSheetName("Sheet1", "Prices"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.NewSheet("Empty"); err != nil {
		t.Fatal(err)
	}
	b, err := f.WriteToBuffer()
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// PNG is a picture of 3 × 2 pixels.
func PNG(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 3, 2))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// BillionLaughs is XML that would grow as it is read.
const BillionLaughs = `<?xml version="1.0"?><!DOCTYPE w [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]><w><t>&b;</t></w>`

// PDF is a PDF of one page with these lines.
func PDF(lines ...string) []byte {
	var b strings.Builder
	for i, line := range lines {
		fmt.Fprintf(&b, "BT /F1 12 Tf 72 %d Td (%s) Tj ET\n", 700-14*i, line)
	}
	return PDFWith(b.String(), "")
}

// PDFWith is a PDF of one page that is drawn by a program, which is compressed
// where the stream's header says so.
func PDFWith(program, header string) []byte {
	stream := []byte(program)
	if strings.Contains(header, "FlateDecode") {
		var z bytes.Buffer
		w := zlib.NewWriter(&z)
		_, _ = w.Write(stream)
		_ = w.Close()
		stream = z.Bytes()
	}
	objects := []string{
		"<</Type/Catalog/Pages 2 0 R>>",
		"<</Type/Pages/Kids[3 0 R]/Count 1>>",
		"<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
		fmt.Sprintf("<</Length %d%s>>\nstream\n%s\nendstream", len(stream), header, stream),
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding/FirstChar 32/LastChar 126/Widths[" + strings.Repeat("500 ", 95) + "]>>",
	}
	var b bytes.Buffer
	b.WriteString("%PDF-1.4\n")
	offsets := make([]int, len(objects))
	for i, o := range objects {
		offsets[i] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<</Size %d /Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, start)
	return b.Bytes()
}

// HugeXref is a PDF of a few bytes that says that it has two thousand million
// objects.
func HugeXref() []byte {
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	_, _ = w.Write(bytes.Repeat([]byte{1, 0, 0, 0}, 100))
	_ = w.Close()
	head := "%PDF-1.5\n" + strings.Repeat("% padding, as the last hundred bytes are looked at for the end\n", 3)
	return fmt.Appendf(nil, "%s1 0 obj\n<</Type/XRef/Size 2000000000/W[1 2 1]/Length %d/Filter/FlateDecode>>\nstream\n%s\nendstream\nendobj\nstartxref\n%d\n%%%%EOF\n",
		head, z.Len(), z.Bytes(), len(head))
}
