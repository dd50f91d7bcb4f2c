package openai

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// ollama serves its models below /v1 alone, as Ollama does.
func ollama(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"object":"list","data":[{"id":"qwen3:8b"},{"id":"llama3.2:latest"}]}`))
	})
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"error":{"message":"[] is too short - 'messages'","type":"invalid_request_error"}}`))
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

// Try calls well only an address at which conversations are taken, with the model's exact
// name, and says what to write instead.
func TestTry(t *testing.T) {
	t.Parallel()
	at := ollama(t)
	for _, c := range []struct{ path, model, want string }{
		{"/v1", "qwen3:8b", "ok qwen3:8b at AT/v1"},
		{"/v1/", "llama3.2", "ok llama3.2 at AT/v1"},
		{"/v1", "other", "ok other at AT/v1, whose list of 2 models does not name it"},
		{"/v1", "qwen3", "the endpoint has no model qwen3, but qwen3:8b; write that as llm.model"},
		{"", "qwen3:8b", "nothing takes conversations at AT/chat/completions (status 404), but at AT/v1/chat/completions; write AT/v1 as llm.base_url"},
		{"/api", "qwen3:8b", "nothing takes conversations at AT/api/chat/completions (status 404), but at AT/v1/chat/completions; write AT/v1 as llm.base_url"},
		{"/v1/chat/completions", "qwen3:8b", "llm.base_url is too long; write AT/v1"},
	} {
		found, err := Try(t.Context(), Options{BaseURL: at + c.path, Model: c.model})
		got := "ok " + found
		if err != nil {
			got = err.Error()
		}
		if got = strings.ReplaceAll(got, at, "AT"); got != c.want {
			t.Errorf("%s with %s: %s\nwant %s", c.path, c.model, got, c.want)
		}
	}
}

// A server may say with 404 that it lacks the model; one without conversations says that
// with 404 everywhere.
func TestTryNotFound(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"error":{"code":"model_not_found","message":"The model m does not exist"}}`: "the endpoint has no model m; look at llm.model",
		`{"detail":"Not Found"}`: "nothing takes conversations at ",
		`404 page not found`:     "nothing takes conversations at ",
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(body))
		}))
		_, err := Try(t.Context(), Options{BaseURL: s.URL, Model: "m"})
		s.Close()
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", body, err)
		}
	}
}
