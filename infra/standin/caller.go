package standin

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"

	"triad/shared/cloud/carrier"
)

// Caller is how the SDK reaches a stand-in: by its endpoint, with credentials that
// nobody looks at, and with answers that are not lost on a busy machine. Region and
// client may be replaced.
func Caller(endpoint string) aws.Config {
	return aws.Config{
		Region: "us-east-1", BaseEndpoint: &endpoint, HTTPClient: carrier.Whole(nil),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
		}),
	}
}
