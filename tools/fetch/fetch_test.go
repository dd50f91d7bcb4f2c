package fetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"nod/internal/tooltest"
	"nod/tools"
	"nod/tools/document"
)

// local makes a fetch that may open the tests' own servers.
func local(t *testing.T) *fetcher {
	t.Helper()
	f, err := newFetcher(Keys{Allow: []string{"127.0.0.1"}}, net.DefaultResolver)
	if err != nil {
		t.Fatal(err)
	}
	f.deadline, f.reader.Time = 10*time.Minute, 10*time.Minute // for slow machines
	f.reader.Env = []string{"GORACE=atexit_sleep_ms=0"}        // the race detector waits a second at every exit
	return f
}

// serve serves one body at any path.
func serve(t *testing.T, contentType string, body []byte) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = []string{contentType}
		_, _ = w.Write(body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

const articlePage = `<!doctype html><html><head><title>On kettles | Site</title><style>p{}</style></head><body>
<nav><a href="/">Home</a><a href="/shop">Shop our kettles now</a></nav>
<article><h1>On kettles</h1>%s<p>See <a href="/more?a=1">more</a>.</p>
<table><tr><th>litres</th><th>minutes</th></tr><tr><td>1</td><td>3</td></tr></table>
<img src="data:image/png;base64,AAAA"><script>alert("no")</script></article>
<footer>Cookies! Accept all.</footer></body></html>`

// TestReads is every kind of document that is read.
func TestReads(t *testing.T) {
	paragraphs := strings.Repeat("<p>A kettle boils water, and it takes some time, which depends on the power, the amount, and how cold it was before it was filled in.</p>\n", 8)
	csv := "day,close\n2026-01-02,10.5\n2026-01-03,11\n"
	tests := []struct {
		name, path, contentType string
		body                    []byte
		want, not               []string
		files                   []string // "name type"
	}{
		{
			"article", "/kettles.html", "text/html; charset=utf-8", fmt.Appendf(nil, articlePage, paragraphs),
			[]string{"Title: On kettles | Site\n", "This is a web page.", "A kettle boils water", "](http://", "/more?a=1)", "|litres|minutes|"},
			[]string{"Shop our", "Cookies", "alert", "base64", "<p>"},
			nil,
		},
		{
			"list of links", "/", "text/html", []byte(`<title>Index</title><ul><li><a href="a">Alpha</a><li><a href="b">Beta</a></ul>`),
			[]string{"Title: Index\n", "- [Alpha](http://127.0.0.1:", "- [Beta]("},
			nil, nil,
		},
		{"made by scripts", "/", "text/html", []byte(`<body><div id=app></div><script>go()</script>`), []string{"it may be made by scripts"}, []string{"go()"}, nil},
		{"page without a type", "/", "", []byte("<!doctype html><p>Hello"), []string{"a web page", "Hello"}, nil, nil},
		{"Latin-1 by header", "/", "text/html; charset=iso-8859-1", []byte("<p>caf\xe9"), []string{"café"}, nil, nil},
		{"Shift JIS by meta", "/", "text/html", []byte("<meta charset=shift_jis><p>\x93\xfa\x96\x7b"), []string{"日本"}, nil, nil},
		{"UTF-8 with the wrong word for it", "/", "text/html; charset=iso-8859-1", []byte("<p>caf\xc3\xa9"), []string{"café"}, nil, nil},
		{"UTF-16 text", "/a.txt", "text/plain", []byte("\xff\xfeh\x00i\x00"), []string{"a text file", "\n\nhi"}, nil, nil},
		{"JSON", "/a", "application/json", []byte(`{"a":[1,2]}`), []string{"a text file", `{"a":[1,2]}`}, nil, nil},
		{"text without a type", "/a", "application/octet-stream", []byte("key: value"), []string{"key: value"}, nil, nil},
		{"CSV", "/stock_prices.csv", "text/plain", []byte(csv), []string{"a table as text. It has 3 lines, and is in the file stock_prices.csv.", csv}, nil, []string{"stock_prices.csv text/csv; charset=utf-8"}},
		{"CSV by type", "/export?id=1", "text/csv", []byte(csv), []string{csv}, nil, []string{"export.csv text/csv; charset=utf-8"}},
		{"PDF", "/a.pdf", "application/pdf", tooltest.PDF("Total: 42 EUR", "second line"), []string{"a PDF file", "It has 1 pages.", "[page 1]\nTotal: 42 EUR\nsecond line"}, nil, nil},
		{"PDF by another name", "/download", "application/octet-stream", tooltest.PDF("Total: 42 EUR"), []string{"Total: 42 EUR"}, nil, nil},
		{"PDF 2.0 with bytes around it", "/a.pdf", "text/html", append(append([]byte("\n"), bytes.Replace(tooltest.PDF("x y"), []byte("%PDF-1.4"), []byte("%PDF-2.0"), 1)...), "\n<!-- -->\n"...), []string{"a PDF file"}, nil, nil},
		{
			"DOCX", "/a.docx", "application/octet-stream", tooltest.DOCX(`<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Plan</w:t></w:r></w:p><w:p><w:r><w:t>one</w:t><w:tab/><w:t>two</w:t></w:r></w:p><w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>b</w:t></w:r></w:p></w:tc></w:tr></w:tbl>`),
			[]string{"a Word file", "# Plan\n\none\ttwo\n\na | b"},
			nil, nil,
		},
		{"XLSX", "/a.xlsx", "application/zip", tooltest.XLSX(t), []string{"a spreadsheet", "## Prices\n\nday,close\n2026-01-02,10.5", "## Empty"}, nil, []string{"a.xlsx application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"}},
		{"picture", "/a/photo.jpeg", "text/html", tooltest.PNG(t), []string{"a picture (png, 3 × 2 pixels, 1 KB), in the file photo.png"}, nil, []string{"photo.png image/png"}},
		{"nothing", "/", "text/html", []byte(" \n"), []string{"an empty answer"}, nil, nil},
	}
	f := local(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := tooltest.Run(t, f.tool(), map[string]any{"url": serve(t, tt.contentType, tt.body) + tt.path})
			if got.Failed {
				t.Fatal(got.Text)
			}
			for _, want := range tt.want {
				if !strings.Contains(got.Text, want) {
					t.Errorf("no %q in:\n%s", want, got.Text)
				}
			}
			for _, not := range tt.not {
				if strings.Contains(got.Text, not) {
					t.Errorf("%q is in:\n%s", not, got.Text)
				}
			}
			var files []string
			for _, file := range got.Files {
				files = append(files, file.Name+" "+file.MediaType)
			}
			if strings.Join(files, "\n") != strings.Join(tt.files, "\n") {
				t.Errorf("files %q, want %q", files, tt.files)
			}
		})
	}
}

// TestRefuses is what cannot be read, some of it made to hurt.
func TestRefuses(t *testing.T) {
	pixels := tooltest.PNG(t)
	copy(pixels[16:], "\x00\x01\x00\x00\x00\x01\x00\x00") // 65536 × 65536 in the header
	tests := []struct {
		name, contentType string
		body              []byte
		want              string
	}{
		{"video", "video/mp4", []byte("\x00\x00\x00\x18ftypmp42"), "it is video/mp4"},
		{"program", "application/octet-stream", []byte("\x7fELF\x00\x00\x01"), "of which there is no text"},
		{"program that says it is text", "text/plain", []byte("\x7fELF\x00\x00\x01"), "of which there is no text"},
		{"archive", "application/zip", tooltest.Zip(map[string][]byte{"a.txt": []byte("a")}), "it is application/zip"},
		{"SVG as a picture of another type", "image/bmp", []byte("BM\x00\x00\x00\x00"), "only PNG, JPEG, GIF and WebP"},
		{"broken picture", "image/png", []byte("\x89PNG\r\n\x1a\nxxxx"), "a broken picture"},
		{"picture of 4 gigapixels", "image/png", pixels, "broken picture"},
		{"page nested deep", "text/html", bytes.Repeat([]byte("<div>"), 1_000_000), "no page that can be read"},
		{"broken PDF", "application/pdf", []byte("%PDF-1.4\nnothing"), "a PDF that is broken"},
		{"PDF whose root lies elsewhere", "application/pdf", bytes.Replace(tooltest.PDF("a"), []byte("0000000009 00000 n"), []byte("0000000003 00000 n"), 1), "not read: it is damaged"},
		{"PDF cut within a string", "application/pdf", tooltest.PDFWith("BT (abc", ""), ""},
		{"PDF with a stream that never ends", "application/pdf", tooltest.PDFWith("BT <41", ""), "took too long"},
		{"PDF whose sections go round", "application/pdf", bytes.Replace(tooltest.PDF("a"), []byte("/Size 6"), []byte("/Size 6 /Prev 9"), 1), ""},
		{"PDF that claims many objects", "application/pdf", tooltest.HugeXref(), "but not read"},
		{"PDF nested deep", "application/pdf", tooltest.PDFWith(strings.Repeat("[", 2_000_000), ""), ""},
		{"PDF bomb", "application/pdf", tooltest.PDFWith(strings.Repeat("BT /F1 9 Tf (aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa) Tj ET ", 300_000), "/Filter/FlateDecode"), "too"},
		{"broken DOCX", "", tooltest.Zip(map[string][]byte{"word/document.xml": []byte("<w:p>")}), "XML is broken"},
		{"DOCX bomb", "", tooltest.Spaces(map[string]int{"word/document.xml": document.UnzipMost>>20 + 1}), "unpacks to more than 64 MB"},
		{"DOCX nested deep", "", tooltest.Zip(map[string][]byte{"word/document.xml": bytes.Repeat([]byte("<p>"), 1_000_000)}), "nested too deep"},
		{"DOCX with a billion laughs", "", tooltest.Zip(map[string][]byte{"word/document.xml": []byte(tooltest.BillionLaughs)}), "XML is broken"},
		{"XLSX bomb", "", tooltest.Spaces(map[string]int{"xl/workbook.xml": document.UnzipMost>>20 + 1}), "unpacks to more than 64 MB"},
		{"broken XLSX", "", tooltest.Zip(map[string][]byte{"xl/workbook.xml": []byte("x")}), ""},
		{"archive within a zip's comment", "", []byte("PK\x03\x04 word/document.xml"), "a Word file that is broken"},
	}
	f := local(t)
	f.reader.Memory = 256 << 20
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f.reader.Time = 10 * time.Minute
			if slices.Contains([]string{"", "too", "took too long", "but not read"}, tt.want) { // it may loop for ever
				f.reader.Time = 500 * time.Millisecond
			}
			got := tooltest.Run(t, f.tool(), map[string]any{"url": serve(t, tt.contentType, tt.body) + "/x"})
			if tt.want != "" && !got.Failed || !strings.Contains(got.Text, tt.want) {
				t.Errorf("failed %v, want %q:\n%s", got.Failed, tt.want, got.Text)
			}
			if len(got.Files) > 1 {
				t.Errorf("%d files", len(got.Files))
			}
		})
	}
}

// TestTrouble is every way in which a server can fail.
func TestTrouble(t *testing.T) {
	stop := make(chan struct{})
	defer close(stop)
	mux := http.NewServeMux()
	for _, code := range []int{401, 403, 404, 410, 418, 429, 500, 503} {
		mux.HandleFunc(fmt.Sprintf("/%d", code), func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
	}
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) })
	for name, to := range map[string]string{
		"/to-loopback": "http://127.0.0.2/", "/to-metadata": "http://169.254.169.254/", "/to-file": "file:///etc/passwd",
		"/to-name": "http://localhost/", "/to-mapped": "http://[::ffff:10.0.0.1]/", "/to-user": "http://u:p@127.0.0.1/", "/to-decimal": "http://2130706433/",
	} {
		mux.HandleFunc(name, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
		})
	}
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-stop:
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("/stall", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "x")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-stop:
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("/short", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "x")
	})
	mux.HandleFunc("/headers", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("x", 100<<10)) })
	server := httptest.NewServer(mux)
	defer server.Close()
	garbage := tooltest.Listen(t, "SSH-2.0-OpenSSH_9.2\r\n")
	down := tooltest.Listen(t, "")
	tls := httptest.NewTLSServer(mux)
	defer tls.Close()

	f := local(t)
	tests := []struct{ name, url, want string }{
		{"401", server.URL + "/401", "401 Unauthorized: it does not show this page to everybody"},
		{"403", server.URL + "/403", "403 Forbidden"},
		{"404", server.URL + "/404", "404 Not Found: there is no such page"},
		{"410", server.URL + "/410", "410 Gone"},
		{"418", server.URL + "/418", "418"},
		{"429", server.URL + "/429", "leave it alone"},
		{"500", server.URL + "/500", "trouble of its own"},
		{"redirects for ever", server.URL + "/loop", "redirects more than 5 times"},
		{"redirect to loopback", server.URL + "/to-loopback", "not among the hosts"},
		{"redirect to metadata", server.URL + "/to-metadata", "not among the hosts"},
		{"redirect to a file", server.URL + "/to-file", "only http and https"},
		{"redirect to a name of loopback", server.URL + "/to-name", "not among the hosts"},
		{"redirect to a mapped address", server.URL + "/to-mapped", "not among the hosts"},
		{"redirect with a password", server.URL + "/to-user", "user name"},
		{"redirect to a decimal address", server.URL + "/to-decimal", "neither a name"},
		{"slow", server.URL + "/slow", "did not answer in time"},
		{"stalls", server.URL + "/stall", "did not answer in time"},
		{"ends early", server.URL + "/short", "the connection broke"},
		{"headers too long", server.URL + "/headers", "the connection broke"},
		{"garbage", "http://" + garbage, "not HTTP"},
		{"down", "http://" + down, "connection"},
		{"untrusted certificate", tls.URL, "no secure connection"},
		{"http where https was asked for", strings.Replace(server.URL, "http:", "https:", 1), "speaks http there"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f.deadline = 10 * time.Minute
			if tt.want == "did not answer in time" {
				f.deadline = 200 * time.Millisecond
			}
			got := tooltest.Run(t, f.tool(), map[string]any{"url": tt.url})
			if !got.Failed || !strings.Contains(got.Text, tt.want) {
				t.Errorf("failed %v: %s\nwant %q", got.Failed, got.Text, tt.want)
			}
		})
	}
}

// TestRedirectsToPrivate goes from an allowed server to one that is not,
// where every public host is allowed too.
func TestRedirectsToPrivate(t *testing.T) {
	inner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was reached") }))
	defer inner.Close()
	_, port, _ := net.SplitHostPort(inner.Listener.Addr().String())
	outer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://"+r.URL.Query().Get("to")+":"+port+"/", http.StatusFound)
	}))
	defer outer.Close()
	f, err := newFetcher(Keys{Allow: []string{"*", "127.0.0.1"}}, tooltest.Resolver(t, func(string) []string { return []string{"127.0.0.1"} }))
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{"127.0.0.2", "[::1]", "[::ffff:7f00:2]", "evil.example", "169.254.169.254"} {
		if got := tooltest.Run(t, f.tool(), map[string]any{"url": outer.URL + "/?to=" + to}); !got.Failed {
			t.Errorf("%s: %s", to, got.Text)
		}
	}
}

// A proxy gets what allow names, and each redirect is judged by its name: nobody sees
// where the proxy's names lead.
func TestThroughProxy(t *testing.T) {
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Host)
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, "http://"+to+"/", http.StatusFound)
			return
		}
		_, _ = fmt.Fprint(w, "through the proxy")
	}))
	defer proxy.Close()
	u, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	made, err := Keys{Allow: []string{"good.example", "*.corp.example", "10.1.*", "10.0.0.0/8", "*"}, Deny: []string{"bad.corp.example"}}.Make(t.Context(), tools.Host{Proxy: u})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		target  string
		through []string
		fine    bool
	}{
		{"good.example", []string{"good.example"}, true},
		{"a.corp.example:8080", []string{"a.corp.example:8080"}, true},
		{"bad.corp.example", nil, false},
		{"other.example", nil, false},
		{"10.1.evil.example", nil, false},
		{"127.0.0.1", nil, false},
		{"169.254.169.254", nil, false},
		{"good.example/?to=a.corp.example", []string{"good.example", "a.corp.example"}, true},
		{"good.example/?to=other.example", []string{"good.example"}, false},
		{"good.example/?to=127.0.0.1", []string{"good.example"}, false},
	} {
		asked = nil
		got := tooltest.Run(t, made.Tools[0], map[string]any{"url": "http://" + tt.target})
		if got.Failed == tt.fine || !slices.Equal(asked, tt.through) {
			t.Errorf("%s: the proxy was asked for %q, and it says %s", tt.target, asked, got.Text)
		}
	}
}

func TestSendsLittle(t *testing.T) {
	var seen []http.Header
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Clone())
		http.SetCookie(w, &http.Cookie{Name: "id", Value: "1"})
		if r.URL.Path == "/a" {
			http.Redirect(w, r, "/b", http.StatusFound)
		}
	}))
	defer server.Close()
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	tooltest.Run(t, local(t).tool(), map[string]any{"url": server.URL + "/a?key=s"})
	if len(seen) != 2 {
		t.Fatalf("%d requests", len(seen))
	}
	for _, h := range seen {
		if h.Get("Referer") != "" || h.Get("Cookie") != "" || !strings.HasPrefix(h.Get("User-Agent"), "nod/") {
			t.Errorf("headers %v", h)
		}
	}
}

// TestLong reads a text in parts, as a model does.
func TestLong(t *testing.T) {
	var text strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&text, "line %d é\n", i)
	}
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests++
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, text.String())
	}))
	defer server.Close()
	f := local(t)
	got := tooltest.Run(t, f.tool(), map[string]any{"url": server.URL + "/long.txt"})
	if len(got.Files) != 1 || got.Files[0].Name != "long.md" || string(got.Files[0].Data) != text.String() {
		t.Fatalf("%d files", len(got.Files))
	}
	var all strings.Builder
	for offset := 0; ; {
		if len(got.Text) > tools.Cap {
			t.Fatalf("%d bytes", len(got.Text))
		}
		head, body, _ := strings.Cut(got.Text, "\n\n")
		all.WriteString(body)
		_, next, more := strings.Cut(head, "read on with offset ")
		if !more {
			break
		}
		if _, err := fmt.Sscanf(next, "%d", &offset); err != nil {
			t.Fatal(err)
		}
		got = tooltest.Run(t, f.tool(), map[string]any{"url": server.URL + "/long.txt", "offset": offset})
		if len(got.Files) != 0 {
			t.Errorf("the file comes again at offset %d", offset)
		}
	}
	if all.String() != text.String() || requests != 1 {
		t.Errorf("%d of %d bytes in %d requests", all.Len(), text.Len(), requests)
	}
	if got := tooltest.Run(t, f.tool(), map[string]any{"url": server.URL + "/long.txt", "offset": 1 << 30}); !got.Failed || !strings.Contains(got.Text, "nothing at offset") {
		t.Error(got.Text)
	}
	fresh := local(t) // after a restart
	if got := tooltest.Run(t, fresh.tool(), map[string]any{"url": server.URL + "/long.txt", "offset": 20}); got.Failed || requests != 2 {
		t.Errorf("%d requests: %s", requests, got.Text)
	}
}

func TestCapsSize(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", r.URL.Query().Get("type"))
		start := []byte(r.URL.Query().Get("start"))
		if r.URL.Path == "/gzip" { // 40 MB in 40 KB
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = z.Write(bytes.Repeat([]byte("a line\n"), 6<<20))
			_ = z.Close()
			return
		}
		_, _ = w.Write(start)
		for chunk := bytes.Repeat([]byte("x"), 1<<20); ; {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}))
	defer server.Close()
	tests := []struct{ name, path, want string }{
		{"endless text", "/?type=text/plain", "Only its first 10 MB were read."},
		{"endless PDF", "/?type=application/pdf&start=%25PDF-1.4", "more than 10 MB"},
		{"endless picture", "/?type=image/png&start=%89PNG%0d%0a%1a%0a", "more than 10 MB"},
		{"gzip bomb", "/gzip?type=text/plain", "Only its first 10 MB were read."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := tooltest.Run(t, local(t).tool(), map[string]any{"url": server.URL + tt.path})
			if !strings.Contains(got.Text, tt.want) || len(got.Text) > tools.Cap {
				t.Errorf("%d bytes: %.300s", len(got.Text), got.Text)
			}
			for _, file := range got.Files {
				if len(file.Data) > tools.FileCap {
					t.Errorf("a file of %d bytes", len(file.Data))
				}
			}
		})
	}
}

func TestStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	defer server.Close()
	f := local(t)
	got, err := f.tool().Run(ctx, tools.Input{Args: fmt.Appendf(nil, `{"url":%q}`, server.URL)})
	if err != nil || !got.Failed || !strings.Contains(got.Text, "stopped") {
		t.Errorf("%v: %s", err, got.Text)
	}
}

func TestHostileServers(t *testing.T) {
	tooltest.HostileServers(t, func(_ string, limit time.Duration) tools.Tool {
		f := local(t)
		f.deadline = limit
		return f.tool()
	}, map[string]string{
		"drips": "did not answer in time", "drips an answer": "did not answer in time", "packs much into little": "Only its first 10 MB were read",
		"packs nothing": "the connection broke", "packs in a way that nobody asked for": "of which there is no text",
	})
}
