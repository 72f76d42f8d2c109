package s3

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/minio/minio-go/v7/pkg/s3utils"

	"attestry/evidence"
)

// Options say where a bucket is and who opens it.
type Options struct {
	// Endpoint is the scheme (http or https) and host of the server, without a
	// path.
	Endpoint string
	// Bucket is made by Open when it is absent.
	Bucket string
	// Region is where the bucket is, or is made. The server is asked when it is "".
	Region    string
	AccessKey string
	SecretKey evidence.Secret
	// Clock tells how old an abandoned upload is; time.Now when nil.
	Clock evidence.Clock
}

func (o Options) validate() error {
	endpoint, err := url.Parse(o.Endpoint)
	if err != nil || endpoint.Host == "" || endpoint.Scheme != "http" && endpoint.Scheme != "https" {
		return errors.New("the endpoint must be http://host or https://host")
	}
	if err := s3utils.CheckValidBucketNameStrict(o.Bucket); err != nil {
		return fmt.Errorf("bucket %q: %w", o.Bucket, err)
	}
	if o.AccessKey == "" || o.SecretKey == "" {
		return errors.New("the access key and the secret key are required")
	}
	return nil
}
