package redis

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/internal/redistest"
	"nod/internal/storetest"
)

func TestParseURL(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		url  string
		want address
	}{
		{"redis://localhost", address{replicas: -1, hosts: []string{"localhost:6379"}}},
		{"redis://h:1/3", address{replicas: -1, hosts: []string{"h:1"}, db: 3}},
		{"redis://h:1/", address{replicas: -1, hosts: []string{"h:1"}}},
		{"redis://h:1/0?replicas=2&durable=no", address{hosts: []string{"h:1"}, replicas: 2, lossy: true}},
		{"redis://h?replicas=0", address{hosts: []string{"h:6379"}}},
		{"rediss+cluster://u:p@a:1?replicas=1", address{cluster: true, tls: true, hosts: []string{"a:1"}, user: "u", password: "p", replicas: 1}},
		{
			"redis+sentinel://u:p@a:1/main?sentinel_user=w&sentinel_password=p%40%26%3F",
			address{replicas: -1, hosts: []string{"a:1"}, master: "main", user: "u", password: "p", sentinelUser: "w", sentinelPassword: "p@&?"},
		},
		{"redis://u:p@h:1", address{replicas: -1, hosts: []string{"h:1"}, user: "u", password: "p"}},
		{"redis://:p%40%2Fq@h", address{replicas: -1, hosts: []string{"h:6379"}, password: "p@/q"}},
		{"redis://u:p@/q@h:1/2", address{replicas: -1, hosts: []string{"h:1"}, user: "u", password: "p@/q", db: 2}},
		{"redis://[::1]:7", address{replicas: -1, hosts: []string{"[::1]:7"}}},
		{"redis://[::1]", address{replicas: -1, hosts: []string{"[::1]:6379"}}},
		{"rediss://h", address{replicas: -1, hosts: []string{"h:6379"}, tls: true}},
		{"redis+cluster://u:p@a:1,b:2", address{replicas: -1, cluster: true, hosts: []string{"a:1", "b:2"}, user: "u", password: "p"}},
		{"redis+cluster://a", address{replicas: -1, cluster: true, hosts: []string{"a:6379"}}},
		{"redis+sentinel://:p@a:1,b/main/4", address{replicas: -1, hosts: []string{"a:1", "b:26379"}, master: "main", db: 4, password: "p"}},
		{"rediss+sentinel://a/main", address{replicas: -1, hosts: []string{"a:26379"}, master: "main", tls: true}},
	} {
		got, err := parseURL(c.url)
		if err != nil {
			t.Errorf("parseURL(%q): %v", c.url, err)
		}
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(address{})); diff != "" {
			t.Errorf("parseURL(%q) (-want +got):\n%s", c.url, diff)
		}
	}
}

// No error of a bad URL holds its password.
func TestPasswordIsNoWhere(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--requirepass", "other")
	for _, url := range []string{
		"s3cret", "http://u:s3cret@h", "redis:/u:s3cret@h", "redis://u:s3cret@", "redis://u:s3cret@h:port",
		"redis://u:s3cret@h/x", "redis://h?s3cret=1", "redis://h?replicas=s3cret", "redis://h?durable=s3cret", "redis://h?x=s3cret%zz",
		"redis+sentinel://127.0.0.1:1/main?sentinel_password=s3cret", "redis://u:s3cret@h:1:2", "redis://u:s3cret%zz@h", "redis://u:s3cret@a,b",
		"redis+cluster://u:s3cret@a/3", "redis+cluster://u:s3cret@,", "redis+sentinel://u:s3cret@a", "redis+s3cret://a",
		"redisss://s3cret@h", "redis://u:s3cret@127.0.0.1:1", "redis+cluster://u:s3cret@127.0.0.1:1",
		"redis+sentinel://u:s3cret@127.0.0.1:1/main", "rediss://u:s3cret@127.0.0.1:1",
		"redis://:s3cret@" + server.Addr(), "redis://u:s3cret@" + server.Addr(),
	} {
		var logged bytes.Buffer
		s, err := Open(t.Context(), url, Options{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
		if err == nil {
			t.Errorf("Open(%q): no error", url)
			_ = s.Close()
			continue
		}
		if strings.Contains(err.Error()+logged.String(), "s3cret") {
			t.Errorf("Open(%q) tells the password: %v %s", url, err, &logged)
		}
	}
}

// A server that may drop keys is refused, with what to do about it.
func TestEvictionIsRefused(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--maxmemory-policy", "allkeys-lru")
	_, err := Open(t.Context(), server.URL(), Options{})
	if err == nil || !strings.Contains(err.Error(), "CONFIG SET maxmemory-policy noeviction") {
		t.Errorf("Open: %v, want what to do", err)
	}
}

func TestClusterNodeIsRefused(t *testing.T) {
	t.Parallel()
	_, err := Open(t.Context(), redistest.Cluster(t, 1)[0].URL(), Options{})
	if err == nil || !strings.Contains(err.Error(), "redis+cluster://") {
		t.Errorf("Open: %v, want what to write", err)
	}
}

// A check, and the start, warn of unverifiable settings and of risks that the URL
// accepts.
func TestWarnings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, want, query string
		options           []string
	}{
		{"no append-only file", "appendonly is no", "?durable=no", []string{"--appendonly", "no"}},
		{"hidden settings", "hides its settings", "", []string{"--rename-command", "CONFIG", ""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var logged bytes.Buffer
			url := redistest.Start(t, c.options...).URL() + c.query
			s := openStore(t, url, Options{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
			if err := s.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
			if n := strings.Count(logged.String(), c.want); n != 1 {
				t.Errorf("logged %q, want %q once", &logged, c.want)
			}
			lines, err := Check(t.Context(), url, Options{})
			if err != nil || len(lines) != 1 || !strings.Contains(lines[0], c.want) {
				t.Errorf("Check = %q, %v, want %q", lines, err, c.want)
			}
		})
	}
}

// A server that keeps nothing on disk is refused, unless the URL says that it
// will do.
func TestLossyIsRefused(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--appendonly", "no")
	_, err := Open(t.Context(), server.URL(), Options{})
	if err == nil || !strings.Contains(err.Error(), "?durable=no") {
		t.Errorf("Open: %v, want what to do", err)
	}
	if _, err := Check(t.Context(), server.URL(), Options{}); err == nil {
		t.Error("Check: no error")
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	cert, key, pool := certificate(t)
	port := strconv.Itoa(redistest.FreePort(t))
	redistest.Start(t, "--tls-port", port, "--tls-cert-file", cert, "--tls-key-file", key, "--tls-auth-clients", "no")
	url := "rediss://127.0.0.1:" + port
	s := openStore(t, url, Options{TLS: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}})
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("Ping: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), storetest.Patience)
	defer cancel()
	_, err := Open(ctx, url, Options{})
	for errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil { // a busy machine shakes hands slowly
		_, err = Open(ctx, url, Options{})
	}
	if err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("Open with the system's roots: %v, want an error of the certificate", err)
	}
}

// certificate makes a certificate for 127.0.0.1 that signs itself.
func certificate(t *testing.T) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatalf("generate key: %v", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "redis"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatalf("create certificate: %v", err)
	}
	raw, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatalf("marshal key: %v", err)
	}
	write := func(name, kind string, b []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}), 0o600); err != nil {
			t.Fatalf("write %s: %v", name, err)
		}
		return path
	}
	pool = x509.NewCertPool()
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatalf("parse certificate: %v", err)
	}
	pool.AddCert(parsed)
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "EC PRIVATE KEY", raw), pool
}
