package image

import (
	stdcmp "cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/chat"
	"nod/internal/tooltest"
	"nod/llm"
	"nod/setting"
	"nod/tools"
)

const theKey = "sk-hunter2"

func imagerOf(t *testing.T, o options) *imager {
	t.Helper()
	o.model = stdcmp.Or(o.model, "gpt-image-1")
	i, err := newImager(o)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// makeImage calls the tool in a thread that holds files.
func makeImage(t *testing.T, i *imager, args string, files ...chat.File) (llm.Result, error) {
	t.Helper()
	desk := chat.Desk{Thread: chat.ThreadID{Platform: "terminal", Channel: "c"}, Key: "thread#call", Files: files}
	return tooltest.Box(t, i.tool()).Call(t.Context(), desk, llm.Call{Name: "image", Args: args})
}

func TestImage(t *testing.T) {
	encoded := base64.StdEncoding.EncodeToString(tooltest.PNG(t))
	var asked map[string]any
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	defer server.Close()
	mux.HandleFunc("POST /v1/images/generations", func(w http.ResponseWriter, r *http.Request) {
		asked = nil
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		if r.Header.Get("Idempotency-Key") != "thread#call" || r.Header.Get("Authorization") != "Bearer "+theKey || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("headers %v", r.Header)
		}
		answer := map[string]string{
			"as bytes": `{"b64_json":"` + encoded + `"}`, "as an address": `{"url":"` + server.URL + `/files/a.b.jpg?sig=1"}`,
			"as a data URL": `{"url":"data:image/png;base64,` + encoded + `"}`,
		}[fmt.Sprint(asked["prompt"])]
		_, _ = io.WriteString(w, `{"created":1,"data":[`+answer+`]}`)
	})
	mux.HandleFunc("GET /files/a.b.jpg", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("the key was sent along for the picture")
		}
		_, _ = w.Write(tooltest.PNG(t))
	})
	tests := []struct {
		name, model, args string
		files             []chat.File
		size              any
		want              string
	}{
		{"bytes", "", `{"prompt":"as bytes"}`, nil, nil, "image-1.png"},
		{"bytes, square", "", `{"prompt":"as bytes","size":"square"}`, nil, "1024x1024", "image-1.png"},
		{"bytes, portrait", "gpt-image-2", `{"prompt":"as bytes","size":"portrait"}`, nil, "1024x1536", "image-1.png"},
		{"landscape of an older model", "dall-e-3", `{"prompt":"as bytes","size":"landscape"}`, nil, "1792x1024", "image-1.png"},
		{"landscape of the oldest", "dall-e-2", `{"prompt":"as bytes","size":"landscape"}`, nil, "1024x1024", "image-1.png"},
		{"address", "", `{"prompt":"as an address"}`, nil, nil, "image-1.png"},
		{"data URL", "", `{"prompt":"as a data URL"}`, nil, nil, "image-1.png"},
		{"the third", "", `{"prompt":"as bytes"}`, []chat.File{{Name: "Image-1.JPG"}, {Name: "image-2.png"}, {Name: "image-30.png"}}, nil, "image-3.png"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := makeImage(t, imagerOf(t, options{baseURL: server.URL + "/v1/", apiKey: setting.NewSecret(theKey), model: tt.model}), tt.args, tt.files...)
			if err != nil {
				t.Fatal(err)
			}
			want := llm.Result{
				Text:  "The file " + tt.want + " is a picture (png, 3 × 2 pixels, 1 KB). People see it.",
				Files: []llm.File{{Name: tt.want, MediaType: "image/png", Data: tooltest.PNG(t)}},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if asked["size"] != tt.size || asked["n"] != 1.0 || asked["model"] == "" {
				t.Errorf("asked %v", asked)
			}
		})
	}
	large := base64.StdEncoding.EncodeToString(append(tooltest.PNG(t), make([]byte, 5<<20)...))
	url := tooltest.Handle(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"data":[{"b64_json":"`+large+`"}]}`)
	})
	if got, err := makeImage(t, imagerOf(t, options{baseURL: url}), `{"prompt":"x"}`); err != nil || len(got.Files) != 1 || len(got.Files[0].Data) < 5<<20 {
		t.Errorf("a picture of 5 MB: %v: %s", err, got.Text)
	}
	tool := imagerOf(t, options{baseURL: "https://images.example/v1"}).tool()
	if tool.ReadOnly {
		t.Error("a picture costs money, but the tool is read-only")
	}
}

// TestTrouble is every way in which the service can fail. The operator
// learns of each but a refused prompt, and never what was asked for.
func TestTrouble(t *testing.T) {
	answer := func(code int, text string) string {
		return tooltest.Handle(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = io.WriteString(w, text)
		})
	}
	encoded := func(body string) string {
		return answer(200, `{"data":[{"b64_json":"`+base64.StdEncoding.EncodeToString([]byte(body))+`"}]}`)
	}
	at := func(address string) string { return answer(200, `{"data":[{"url":"`+address+`"}]}`) }
	fault := func(code, message string) string {
		return fmt.Sprintf(`{"error":{"message":%q,"type":"invalid_request_error","code":%q}}`, message, code)
	}
	const unknown, shown = "is not known: ask before you call it again", "A picture was made, but cannot be shown: "
	tests := []struct{ name, url, want, operator string }{
		{"401", answer(401, fault("invalid_api_key", "Incorrect API key provided: "+theKey)), "does not let this program in; an operator has to check its key", "401 Unauthorized (invalid_api_key)"},
		{"403", answer(403, fault("", "Your organization must be verified, key "+theKey+".")), "Do without it: Your organization must be verified, key …", "403 Forbidden (invalid_request_error)"},
		{"prompt refused", answer(400, fault("content_policy_violation", "Not allowed by our safety system.")), "refuses this prompt: Not allowed by our safety system. Nothing was made", ""},
		{"prompt refused by a newer model", answer(400, fault("moderation_blocked", "Blocked.")), "refuses this prompt: Blocked. Nothing was made", ""},
		{"bad request", answer(400, fault("unknown_parameter", "Unknown parameter: 'n'.")), "refuses this request: Unknown parameter: 'n'. Nothing was made", "400 Bad Request (unknown_parameter)"},
		{"bad request without words", answer(400, "<html>"), "refuses this request. Nothing was made", "400 Bad Request"},
		{"error that is a text", answer(422, `{"error":"opensesame"}`), "refuses this request. Nothing was made", "422"},
		{"no such model", answer(404, fault("model_not_found", "The model does not exist")), "does not know this address or model: The model does not exist.", "404 Not Found (model_not_found)"},
		{"429", answer(429, fault("rate_limit_exceeded", "Slow down")), "asked too often; wait", "429"},
		{"no credit", answer(429, fault("insufficient_quota", "You exceeded your current quota")), "no credit left", "insufficient_quota"},
		{"500", answer(500, ""), "trouble of its own. Whether a picture was made, and paid for, " + unknown, "500"},
		{"503", answer(503, "<html>"), unknown, "503"},
		{"408", answer(408, "stream timeout"), unknown, "408"},
		{"redirect", tooltest.Handle(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}), "answers 307", "307"},
		{"down", "http://" + tooltest.Listen(t, ""), "cannot be reached; try later", "refused"},
		{"garbage on the wire", "http://" + tooltest.Listen(t, "220 smtp ready\r\n"), unknown, "malformed HTTP"},
		{"page instead of JSON", answer(200, "<html>hunter2"), "makes no sense", "check api_url"},
		{"cut answer", tooltest.Handle(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"data":[`)
		}), unknown, "unexpected EOF"},
		{"huge", answer(200, `{"data":[{"b64_json":"`+strings.Repeat("A", answerMost)+`"}]}`), "too long", "too long"},
		{"no picture", answer(200, `{"data":[]}`), "without a picture", "no picture in the answer"},
		{"nothing in it", answer(200, `{"data":[{"b64_json":null}]}`), shown + "the answer does not hold it", "the answer does not hold it"},
		{"damaged", answer(200, `{"data":[{"b64_json":"!!"}]}`), shown + "its bytes are damaged", "damaged"},
		{"page as bytes", encoded("<html>no"), shown + "what came is text/html, and no picture", "text/html"},
		{"broken picture", encoded("\x89PNG\r\n\x1a\nxxxx"), shown + "it is a broken picture", "broken"},
		{"vector picture", encoded(`<svg xmlns="http://www.w3.org/2000/svg"/>`), shown + "what came is text", "no picture"},
		{"address of a page", at(answer(200, "<html>")), shown + "what came is text/html", "text/html"},
		{"address that is gone", at(answer(404, "")), shown + "the server answers 404", "404"},
		{"endless picture", at(tooltest.Handle(t, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(tooltest.PNG(t))
			for chunk := make([]byte, 1<<20); ; {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		})), shown + "it is a picture of more than 10 MB", "more than"},
		{"address inside", at("http://127.0.0.2:8080/a.png"), shown + "127.0.0.2 is not an address of the public internet", "not an address"},
		{"address of credentials", at("http://169.254.169.254/latest/meta-data/"), shown + "169.254.169.254 is not an address of the public internet", "not an address"},
		{"address of a file", at("file:///etc/passwd"), shown + "only http and https", "only http"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := makeImage(t, imagerOf(t, options{baseURL: tt.url, apiKey: setting.NewSecret(theKey)}), `{"prompt":"opensesame"}`)
			if !got.Failed || len(got.Files) != 0 || !strings.Contains(got.Text, tt.want) || strings.Contains(got.Text, "hunter2") {
				t.Errorf("failed %v: %s\nwant %q", got.Failed, got.Text, tt.want)
			}
			switch {
			case tt.operator == "" && err != nil:
				t.Errorf("an operator is told of a refused prompt: %v", err)
			case tt.operator == "":
			case err == nil || !strings.Contains(err.Error(), tt.operator) || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "opensesame"):
				t.Errorf("error %v, want %q", err, tt.operator)
			}
		})
	}
	if got, _ := makeImage(t, imagerOf(t, options{baseURL: "http://127.0.0.1:1"}), `{"prompt":" "}`); !strings.Contains(got.Text, "the prompt is empty") {
		t.Error(got.Text)
	}
}

// A request without a prompt costs nothing, and tells whether address, key and model are right.
func TestTry(t *testing.T) {
	for said, want := range map[string]string{
		`400 {"error":{"message":"Missing required parameter: 'prompt'.","code":"missing_required_parameter"}}`: "",
		`422 {"detail":[{"loc":["body","prompt"],"msg":"Field required"}]}`:                                     "",
		`400 {"error":{"message":"Invalid value: 'gpt-image-1'.","code":"invalid_value"}}`:                      "the endpoint has no model gpt-image-1; look at tools.image.model",
		`404 {"error":{"message":"No such model","code":"model_not_found"}}`:                                    "the endpoint has no model gpt-image-1; look at tools.image.model",
		`404 <html>`: "nothing makes pictures at ",
		`401 {}`:     "the endpoint refuses the key (status 401); look at llm.api_key",
		`503 `:       "ask the image service: the server answers 503",
	} {
		status, body, _ := strings.Cut(said, " ")
		address := tooltest.Handle(t, func(w http.ResponseWriter, r *http.Request) {
			if asked, _ := io.ReadAll(r.Body); strings.Contains(string(asked), "prompt") {
				t.Errorf("a picture may be made: %s", asked)
			}
			code, _ := strconv.Atoi(status)
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		})
		err := imagerOf(t, options{baseURL: address, apiKey: setting.NewSecret(theKey)}).tool().Try(t.Context())
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", said, err, want)
		}
	}
}

// TestIsAskedForOnce breaks connections in every way of which net/http, given
// an idempotency key, would try again by itself.
func TestIsAskedForOnce(t *testing.T) {
	var requests atomic.Int32
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	go func() { // answers the first request on a connection, and cuts it at the second
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				for n := range 2 {
					if _, err := conn.Read(make([]byte, 64<<10)); err != nil {
						return
					}
					requests.Add(1)
					if n == 0 {
						_, _ = io.WriteString(conn, "HTTP/1.1 500 x\r\nContent-Length: 0\r\n\r\n")
					}
				}
			}()
		}
	}()
	i := imagerOf(t, options{baseURL: "http://" + l.Addr().String()})
	for range 3 {
		if got, err := makeImage(t, i, `{"prompt":"x"}`); err == nil || !got.Failed {
			t.Errorf("%v: %s", err, got.Text)
		}
	}
	if requests.Load() != 3 {
		t.Errorf("%d requests for 3 calls", requests.Load())
	}
}

func TestSlow(t *testing.T) {
	stop := make(chan struct{})
	var requests atomic.Int32
	url := tooltest.Handle(t, func(http.ResponseWriter, *http.Request) {
		requests.Add(1)
		<-stop
	})
	defer close(stop)
	i := imagerOf(t, options{baseURL: url})
	i.api.Client.Timeout = time.Second
	got, err := makeImage(t, i, `{"prompt":"x"}`)
	if err == nil || !strings.Contains(got.Text, "does not answer in time. Whether a picture was made") || requests.Load() > 1 {
		t.Errorf("%d requests, %v: %s", requests.Load(), err, got.Text)
	}
}

func TestNeeds(t *testing.T) {
	var missing *tools.Missing
	if _, err := newImager(options{}); !errors.As(err, &missing) {
		t.Errorf("with no endpoint: %v", err)
	}
	for _, u := range []string{"example.com", "ftp://example.com", "::"} {
		if _, err := newImager(options{baseURL: u}); err == nil {
			t.Errorf("%q was taken", u)
		}
	}
}

func TestHostileServers(t *testing.T) {
	tooltest.HostileServers(t, func(url string, limit time.Duration) tools.Tool {
		i := imagerOf(t, options{baseURL: url})
		i.api.Client.Timeout = limit
		return i.tool()
	}, nil)
}
