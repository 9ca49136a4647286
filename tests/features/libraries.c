// The functions of CUDA's libraries that a device of candle's is opened and closed by: they do nothing. Of the rest nothing is called.
typedef int Status;
Status cublasCreate_v2(void **handle) { *handle = (void *)1; return 0; }
Status cublasDestroy_v2(void *handle) { (void)handle; return 0; }
Status cublasSetStream_v2(void *handle, void *stream) { (void)handle; (void)stream; return 0; }
Status curandCreateGenerator(void **generator, int kind) { (void)kind; *generator = (void *)1; return 0; }
Status curandDestroyGenerator(void *generator) { (void)generator; return 0; }
Status curandSetPseudoRandomGeneratorSeed(void *generator, unsigned long long seed) { (void)generator; (void)seed; return 0; }
Status curandSetGeneratorOffset(void *generator, unsigned long long offset) { (void)generator; (void)offset; return 0; }
Status curandSetStream(void *generator, void *stream) { (void)generator; (void)stream; return 0; }
