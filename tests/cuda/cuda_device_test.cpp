// A process finds a GPU, or says in one clear line why there is none.
#include <cstdlib>

#include "gpu.hpp"

namespace largo {
namespace {

TEST(CudaDevice, IsDescribedWhetherThereIsOneOrNot) {
  const std::string text = describe_cuda();
  EXPECT_EQ(text.find("CUDA "), 0U) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos);
}

TEST(CudaDevice, ThatIsNotThereIsAnErrorWithARemedy) {
  try {
    open_cuda_device(1000);
    FAIL() << "opened GPU 1000";
  } catch (const InputError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("on the CPU"), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos);
  }
}

TEST(CudaDevice, IsTheOneOfTheProcessOnItsMachine) {
  for (const char* name :
       {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PMI_LOCAL_RANK", "CUDA_VISIBLE_DEVICES"}) {
    unsetenv(name);
  }
  EXPECT_EQ(cuda_device_of_process(), 0);
  setenv("SLURM_LOCALID", "3", 1);
  EXPECT_EQ(cuda_device_of_process(), 3);
  setenv("CUDA_VISIBLE_DEVICES", "5", 1);  // it sees its own GPU alone, as the first
  EXPECT_EQ(cuda_device_of_process(), 0);
  setenv("CUDA_VISIBLE_DEVICES", "4,5,6,7", 1);
  EXPECT_EQ(cuda_device_of_process(), 3);
  unsetenv("CUDA_VISIBLE_DEVICES");
  unsetenv("SLURM_LOCALID");
}

class OpenDevice : public GpuTest {};

TEST_F(OpenDevice, HasAName) { EXPECT_FALSE(device().name().empty()); }

}  // namespace
}  // namespace largo
