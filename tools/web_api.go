package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/time/rate"
)

// webAPI is a service on the web that answers in JSON, at an address that an
// operator configured: it may be on a private network, and behind a proxy.
type webAPI struct {
	name   string // for the model and the operator
	client *http.Client
	limit  *rate.Limiter
	most   int64 // bytes of an answer that are read
}

const (
	// apiMost is how many bytes of an answer are read where nothing else is said.
	apiMost = 4 << 20
	// apiFaultMost is how many bytes of an answer that tells of a fault are.
	apiFaultMost = 16 << 10
)

// newWebAPI makes a service that is asked up to perSecond times in a second.
func newWebAPI(name string, perSecond float64) *webAPI {
	return &webAPI{
		name: name, limit: rate.NewLimiter(rate.Limit(perSecond), 5), most: apiMost,
		client: &http.Client{Timeout: 20 * time.Second, CheckRedirect: sameHost},
	}
}

// sameHost keeps a request, which may hold a key, on the host that it was for.
func sameHost(req *http.Request, via []*http.Request) error {
	if len(via) > 3 || req.URL.Host != via[0].URL.Host || via[0].URL.Scheme == "https" && req.URL.Scheme != "https" {
		return http.ErrUseLastResponse
	}
	return nil
}

// apiError is a service that did not answer as it should. Words are for the
// model; the rest is for the operator, and holds nothing of the question.
type apiError struct {
	words  string
	status int    // of HTTP; 0: there was no answer, or not a usable one
	body   []byte // the beginning of the answer with that status; not for the operator
	cause  error
}

// Error implements error.
func (e *apiError) Error() string {
	switch {
	case e.status != 0:
		return fmt.Sprintf("the server answers %d %s", e.status, http.StatusText(e.status))
	case e.cause != nil:
		return e.cause.Error()
	}
	return e.words
}

// Unwrap gives the cause.
func (e *apiError) Unwrap() error { return e.cause }

// ask sends a request and reads the answer into out. Every error is an
// *apiError.
func (a *webAPI) ask(req *http.Request, out any) error {
	ctx := req.Context()
	if err := a.limit.Wait(ctx); err != nil {
		return &apiError{words: "too many calls at once; wait a little", cause: err}
	}
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Accept", "application/json")
	resp, err := a.client.Do(req)
	if err != nil {
		return a.broken(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode < 200 || resp.StatusCode >= 300 {
		return a.status(resp)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, a.most+1))
	switch {
	case err != nil:
		return a.broken(ctx, err)
	case int64(len(body)) > a.most:
		return &apiError{words: a.name + " gave an answer that is too long; ask for less", cause: errors.New("the answer is too long")}
	}
	if err := json.Unmarshal(body, out); err != nil {
		return &apiError{
			words: a.name + " gave an answer that makes no sense; an operator has to look at its address in the configuration",
			cause: errors.New("the answer is not the JSON that was expected; check api_url"),
		}
	}
	return nil
}

func (a *webAPI) status(resp *http.Response) error {
	code := resp.StatusCode
	body, err := io.ReadAll(io.LimitReader(resp.Body, apiFaultMost))
	if err != nil {
		body = nil // the status says enough
	}
	e := &apiError{status: code, body: body, words: fmt.Sprintf("%s answers %d %s", a.name, code, http.StatusText(code))}
	switch {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		e.words = a.name + " does not let this program in; an operator has to check its key. Do without it"
	case code == http.StatusTooManyRequests:
		e.words = a.name + " says that it was asked too often; wait, or do without it"
	case code >= 500:
		e.words += "; it has trouble of its own: try later, or do without it"
	}
	return e
}

// broken explains a connection that failed. The error of the http package is
// taken apart, since it repeats the address with the question in it.
func (a *webAPI) broken(ctx context.Context, err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	words := a.name + " cannot be reached; try later, or do without it"
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		words = a.name + " does not answer in time; try later, or do without it"
	}
	if errors.Is(context.Cause(ctx), context.Canceled) {
		words = "the call was stopped"
	}
	return &apiError{words: words, cause: err}
}
