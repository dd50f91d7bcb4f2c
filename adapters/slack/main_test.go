package slack

import (
	"testing"

	"nod/internal/parallel"
)

func TestMain(m *testing.M) { parallel.Main(m, 3) }
