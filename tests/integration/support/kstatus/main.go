// Command kstatus reads objects as one list in JSON, and prints for each what Flux's own library makes of it: a list of
// {"status", "message"}.
package main

import (
	"encoding/json"
	"log"
	"os"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

type verdict struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

func main() {
	// Its own reader: integers become int64, as kstatus wants them.
	var texts []json.RawMessage
	if err := json.NewDecoder(os.Stdin).Decode(&texts); err != nil {
		log.Fatal(err)
	}
	verdicts := make([]verdict, len(texts))
	for i, text := range texts {
		var object unstructured.Unstructured
		if err := object.UnmarshalJSON(text); err != nil {
			log.Fatal(err)
		}
		result, err := status.Compute(&object)
		if err != nil {
			log.Fatal(err)
		}
		verdicts[i] = verdict{Status: result.Status.String(), Message: result.Message}
	}
	if err := json.NewEncoder(os.Stdout).Encode(verdicts); err != nil {
		log.Fatal(err)
	}
}
